import NIOCore

/// A server that holds keys: the only one, or a master of a cluster.
package struct RedisPart: Sendable {
    /// Host and port, to show; nil if there is only one server.
    package let name: String?
    /// One slot of this server, by which calls are routed to it.
    fileprivate let slot: UInt16?

    /// Identifies the server until slots move; empty if there is only one server.
    package var mark: String { slot.map { String($0) } ?? "" }

    fileprivate init(name: String?, slot: UInt16?) {
        self.name = name
        self.slot = slot
    }
}

extension RedisLink {
    /// The servers that together have all keys, in the order of their slots.
    package func parts() async throws -> [RedisPart] {
        guard endpoint.isCluster else { return [RedisPart(name: nil, slot: nil)] }
        try await findNodes()
        return try await eventLoop.submit { self.clusterMap.parts.map { RedisPart(name: "\($0.host)", slot: $0.slot) } }
            .get()
    }

    /// The connected servers. Waits for the first try to reach each server, and no longer.
    package func connectedParts() async throws -> [RedisPart] {
        var connected: [RedisPart] = []
        for part in try await parts() {
            guard let slot = part.slot else { return [part] }
            if try await eventLoop.flatSubmit({ self.absence(of: slot) }).get() == nil { connected.append(part) }
        }
        return connected
    }

    /// Finds the server that a mark identifies, and the server after it in slot order. The next one is nil after the
    /// last server.
    package func part(_ mark: String) async throws -> (part: RedisPart, next: RedisPart?) {
        guard let slot = UInt16(mark) else { return (RedisPart(name: nil, slot: nil), nil) }
        let all = try await parts()
        return (RedisPart(name: nil, slot: slot), all.first { $0.slot.map { $0 > slot } ?? false })
    }

    /// Sends a command that is about a server and not about keys.
    @discardableResult
    package func send(_ command: RedisCommand, to part: RedisPart) async throws -> RedisValue {
        try await queue.send(.command(command), configuration.deadline(nil), near: part.slot)
    }

    /// For each key, the unreachable node that has it and why the last try to connect failed; nil if the node is
    /// connected. Waits for the first try to reach a node, and no longer.
    package func absences(of keys: [String]) async throws -> [(node: String, error: RedisError)?] {
        guard endpoint.isCluster else { return keys.map { _ in nil } }
        try await findNodes()
        let slots = keys.map(KeySlot.of)
        return try await eventLoop.flatSubmit {
            EventLoopFuture.whenAllSucceed(slots.map { self.absence(of: $0) }, on: self.eventLoop)
        }.get()
    }

    /// Waits for the answer of a node: then it has named the others. A node may die after it was asked, so another one
    /// is asked.
    private func findNodes() async throws {
        do { try await send(RedisCommand("PING")) } catch let error as RedisError
            where error.code == .closed && error.outcomeIsUnknown
        { try await send(RedisCommand("PING")) }
    }

    /// Sends a command without a key to the server that has this key.
    package func submit(_ command: RedisCommand, near key: String) -> EventLoopFuture<RedisValue> {
        queue.submit(.command(command), configuration.deadline(nil), near: endpoint.isCluster ? KeySlot.of(key) : nil)
    }
}
