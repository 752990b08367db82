import Selectors
import Sluice
import SluiceMonitor

extension OperationQuery {
    /// Replaces what Redis has to be asked for; see `MonitorBroker.resolving`.
    mutating func resolve(_ client: SluiceClient) async throws { self = try await client.broker.resolving(self) }
}
