import NIOCore

/// A server that has keys: the only one, or a master of a cluster.
package struct RedisPart: Sendable {
    /// Host and port, for people; nil where there is only one.
    package let name: String?
    /// One of its slots leads to it.
    fileprivate let slot: UInt16?

    /// Names it as long as its slots are where they are; empty where there is only one.
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
        // The node that answers this was found.
        try await send(RedisCommand("PING"))
        return try await eventLoop.submit { self.clusterMap.parts.map { RedisPart(name: "\($0.host)", slot: $0.slot) } }
            .get()
    }

    /// The server of a mark, and the one behind it.
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

    /// For each of the keys the node that has it and cannot be reached, and why its last try to connect failed; nil where there is a
    /// connection. Waits for the first try to reach a node, and not for more.
    package func absences(of keys: [String]) async throws -> [(node: String, error: RedisError)?] {
        guard endpoint.isCluster else { return keys.map { _ in nil } }
        // The node that answers this was found.
        try await send(RedisCommand("PING"))
        let slots = keys.map(KeySlot.of)
        return try await eventLoop.flatSubmit {
            EventLoopFuture.whenAllSucceed(slots.map { self.absence(of: $0) }, on: self.eventLoop)
        }.get()
    }

    /// Sends a command that has no key of its own to the server that has this one.
    package func submit(_ command: RedisCommand, near key: String) -> EventLoopFuture<RedisValue> {
        queue.submit(.command(command), configuration.deadline(nil), near: endpoint.isCluster ? KeySlot.of(key) : nil)
    }
}
