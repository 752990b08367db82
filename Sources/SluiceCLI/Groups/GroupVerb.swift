import Sluice

/// A verb that does something with one group.
package protocol GroupVerb: Verb {
    /// Whether it changes something.
    static var isChange: Bool { get }
    var target: GroupTarget { get }

    /// Runs the command with the group as it is now.
    func perform(_ group: GroupSummary, _ client: SluiceClient, _ invocation: Invocation) async throws -> ExitStatus
}

extension GroupVerb {
    package static var isChange: Bool { true }

    package func check() throws { try target.check() }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        if Self.isChange { try invocation.requireWritable() }
        let client = try await invocation.connectReadingClock()
        return try await perform(try await target.find(client), client, invocation)
    }
}
