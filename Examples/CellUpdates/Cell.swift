import Operations
import Synchronization

/// One of the few places on the screen, which show all rows of the table in turn.
final class Cell: Sendable {
    /// What it was given to show.
    struct Delivery: Sendable {
        /// The row that the cell belonged to then; nil if it belonged to none.
        let owner: Int?
        let data: RowData
    }

    private struct State {
        var row: Int?
        var data: RowData?
        var deliveries: [Delivery] = []
    }

    private let slot = DeliverySlot()
    private let state = Mutex(State())

    var row: Int? { state.withLock { $0.row } }
    var data: RowData? { state.withLock { $0.data } }
    var deliveries: [Delivery] { state.withLock { $0.deliveries } }

    /// Begins to show another row, or none. Of what was on its way for the former one, nothing arrives after this.
    func use(for row: Int?) -> DeliveryToken {
        let token = slot.renew()
        state.withLock { state in
            state.row = row
            state.data = nil
        }
        return token
    }

    func show(_ data: RowData) {
        state.withLock { state in
            state.deliveries.append(Delivery(owner: state.row, data: data))
            state.data = data
        }
    }
}
