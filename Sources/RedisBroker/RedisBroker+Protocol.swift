import Operations
import RedisClient

/// The protocol of a namespace: the meaning of its keys and messages. The first program that registers a queue stores
/// the number of its protocol. Programs with another number are refused.
package enum NamespaceProtocol {
    /// The number of this program's protocol. docs/wire-format.md describes when it changes.
    package static let number = 1

    /// Refuses a namespace with another protocol number.
    ///
    /// - Parameters:
    ///   - found: the stored number; untrusted text.
    ///   - namespace: the name of the namespace.
    /// - Throws: `OperationsError` with `.incompatible`, and a remedy in its message.
    package static func check(_ found: String, namespace: String) throws(OperationsError) {
        guard found != String(number) else { return }
        let shown = found.utf8.count <= 9 && Int(found) != nil ? found : OperationsError.quoted(found)
        let isOlder = Int(found).map { $0 < number } ?? false
        let remedy = isOlder ? "drain it with the older Sluice" : "upgrade Sluice in this program"
        throw OperationsError(
            .incompatible,
            "namespace \(namespace) has protocol \(shown), and this program speaks protocol \(number): "
                + "\(remedy), or use another namespace, such as \(otherNamespace(than: namespace))"
        )
    }

    /// A name for a namespace that this program can use instead.
    package static func otherNamespace(than namespace: String) -> String { "\(namespace.prefix(120))-p\(number)" }

    /// The command that reads the protocol number of a namespace.
    package static func question(namespace: String) -> RedisCommand {
        RedisCommand("GET", Keys(namespace: namespace).protocolNumber)
    }
}

extension RedisBroker {
    /// Refuses a namespace with another protocol number before anything in it is changed. Asks once per process, but
    /// each time while the namespace has no number.
    ///
    /// - Parameter isWriting: whether to store the number if the namespace has none.
    /// - Throws: `OperationsError`, with `.incompatible` if the namespace has another number.
    func requireProtocol(isWriting: Bool) async throws {
        guard !knowsProtocol.load(ordering: .relaxed) else { return }
        try await translated { try checkProtocol(await link.send(protocolCommands(isWriting: isWriting))) }
    }

    /// Does the work of `requireProtocol(isWriting: true)` on the heartbeat's thread. Blocks the thread.
    func requireProtocolBlocking() throws {
        guard !knowsProtocol.load(ordering: .relaxed) else { return }
        try checkProtocol(heartbeat.send(protocolCommands(isWriting: true)))
    }

    private func protocolCommands(isWriting: Bool) -> [RedisCommand] {
        let question = NamespaceProtocol.question(namespace: namespace)
        guard isWriting else { return [question] }
        return [RedisCommand("SET", keys.protocolNumber, "\(NamespaceProtocol.number)", "NX"), question]
    }

    private func checkProtocol(_ replies: [RedisValue]) throws {
        guard let answer = replies.last else { throw OperationsError(.malformed, "Redis returned no protocol number") }
        // Without a stored number, the namespace is empty or Redis has refused to write.
        if !(try checkProtocol(answer.expectSuccess())), replies.count > 1 { try replies[0].expectSuccess() }
    }

    /// Checks the answer to the question that `connect` asks. A single node of a cluster may not have the number. The
    /// calls that follow report that error.
    func checkFirstLook(_ answer: RedisValue) throws {
        if let error = answer.error, error.code == .moved || error.code == .ask { return }
        try checkProtocol(answer.expectSuccess())
    }

    /// - Returns: false if the namespace has no number yet.
    /// - Throws: `OperationsError` with `.incompatible` if the namespace has another number.
    @discardableResult
    func checkProtocol(_ found: RedisValue) throws(OperationsError) -> Bool {
        guard let found = found.string else { return false }
        try NamespaceProtocol.check(found, namespace: namespace)
        knowsProtocol.store(true, ordering: .relaxed)
        return true
    }
}
