import Operations
import Synchronization

/// One of the few places on the screen. The cells show all rows of the table in turn.
final class Cell: Sendable {
    /// One delivery of data to the cell.
    struct Delivery: Sendable {
        /// The row of the cell at that time; nil = no row.
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

    /// Shows another row, or none. After this call, nothing arrives for the former row.
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
