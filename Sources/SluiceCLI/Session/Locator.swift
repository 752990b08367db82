import Operations
import Selectors
import Sluice
import SluiceMonitor
import SluiceOperator

/// Finds the operations that are named on the command line.
package struct Locator: Sendable {
    package typealias Finding = OperationLookup.Finding

    /// The number of newest operations of each long place that are searched for the end of an id.
    static let newest = OperationLookup.newest
    package let client: SluiceClient

    package init(_ client: SluiceClient) { self.client = client }

    /// Finds the references, in order. `QUEUE/ID` with a full id needs no search.
    package func find(_ references: [IDReference]) async throws -> [Finding] {
        try await OperationLookup(client.broker).find(references)
    }
}
