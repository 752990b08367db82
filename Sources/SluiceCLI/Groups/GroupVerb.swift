import SluiceOperator
import Sluice

/// A verb that acts on one group.
package protocol GroupVerb: Verb {
    var target: GroupTarget { get }
    /// The change as text for the confirmation: `close group nightly`; nil if the verb changes nothing or asks on its
    /// own.
    var change: String? { get }

    /// Runs the verb with the group's current details.
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
