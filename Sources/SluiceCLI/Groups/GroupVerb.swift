import Sluice

/// A verb that does something with one group.
package protocol GroupVerb: Verb {
    var target: GroupTarget { get }
    /// The change, to ask about it: `close group nightly`; nil = it changes nothing, or asks itself.
    var change: String? { get }

    /// Runs the command with the group as it is now.
    func perform(_ group: GroupSummary, _ client: SluiceClient, _ invocation: Invocation) async throws -> ExitStatus
}

extension GroupVerb {
    package var change: String? { nil }

    package func check() throws { try target.check() }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        if Self.effect != .reads { try invocation.beginChange(asking: change) }
        let client = try await invocation.connectReadingClock()
        return try await perform(try await target.find(client), client, invocation)
    }
}
