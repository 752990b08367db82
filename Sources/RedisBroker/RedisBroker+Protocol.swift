import Operations
import RedisClient

/// The protocol of a namespace: what is stored under its keys, and what its messages mean. The first program that makes a queue known
/// writes its number; a program of another number is refused.
package enum NamespaceProtocol {
    /// What this program speaks. docs/wire-format.md says when it changes.
    package static let number = 1

    /// Refuses a namespace of another number.
    ///
    /// - Parameters:
    ///   - found: what is stored; untrusted text.
    ///   - namespace: its name.
    /// - Throws: `OperationsError` with `.incompatible`, saying what to do.
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

    /// A name for a namespace of this program's own.
    package static func otherNamespace(than namespace: String) -> String { "\(namespace.prefix(120))-p\(number)" }

    /// Asks for the number of a namespace.
    package static func question(namespace: String) -> RedisCommand {
        RedisCommand("GET", Keys(namespace: namespace).protocolNumber)
    }
}

extension RedisBroker {
    /// Refuses a namespace of another number before anything is written to it or changed. Asks once per process, and each time while the
    /// namespace has no number.
    ///
    /// - Parameter isWriting: also writes the number, where there is none.
    /// - Throws: `OperationsError`, with `.incompatible` if the namespace has another number.
    func requireProtocol(isWriting: Bool) async throws {
        guard !knowsProtocol.load(ordering: .relaxed) else { return }
        try await translated { try checkProtocol(await link.send(protocolCommands(isWriting: isWriting))) }
    }

    /// The same from the heartbeat's thread, which blocks.
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
        guard let answer = replies.last else { throw OperationsError(.malformed, "Redis gave no answer") }
        // Nothing is stored: the namespace is empty, or Redis has refused to write.
        if !(try checkProtocol(answer.expectSuccess())), replies.count > 1 { try replies[0].expectSuccess() }
    }

    /// What the question answers when a program connects. A node of a cluster that was named alone may not have the number; what is
    /// wrong there is said by the calls that follow.
    func checkFirstLook(_ answer: RedisValue) throws {
        if let error = answer.error, error.code == .moved || error.code == .ask { return }
        try checkProtocol(answer.expectSuccess())
    }

    /// - Returns: false if the namespace has no number yet.
    /// - Throws: `OperationsError` with `.incompatible` if it has another one.
    @discardableResult
    func checkProtocol(_ found: RedisValue) throws(OperationsError) -> Bool {
        guard let found = found.string else { return false }
        try NamespaceProtocol.check(found, namespace: namespace)
        knowsProtocol.store(true, ordering: .relaxed)
        return true
    }
}
