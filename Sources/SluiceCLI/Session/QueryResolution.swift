import Selectors
import Sluice
import SluiceMonitor
import SluiceOperator

extension OperationQuery {
    /// Resolves the parts of the query that need Redis; see `MonitorBroker.resolving`.
    mutating func resolve(_ client: SluiceClient) async throws { self = try await client.broker.resolving(self) }
}
