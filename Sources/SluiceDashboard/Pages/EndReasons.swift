import Operations
import SluiceOperator

/// Why operations died or were cancelled. A worker's event has no reason, but the operation's record has.
struct EndReasons {
    /// The operations to read at once, and the bytes of arguments after which no more are read.
    private static let (batch, bytes) = (20, 4 << 20)
    /// The most milliseconds between the end in the record and its event, which are written by one script.
    private static let apart: Int64 = 1000

    private var rows: [OperationID: (row: EventRow, endedAt: Int64)] = [:]

    init() {}

    /// Reads the records of the events' operations. Without an answer of Redis, events have no reasons.
    init(of items: [EventFeed.Item], _ broker: any OperatorBroker) async {
        var ids: [String: [OperationID]] = [:]
        for case .batch(let batch, _) in items {
            guard let step = Self.step(of: batch) else { continue }
            ids[batch.queue, default: []].append(step.id)
        }
        var left = Self.bytes
        for (queue, ids) in ids {
            for first in stride(from: 0, to: ids.count, by: Self.batch) where left > 0 {
                let some = Array(ids[first..<min(first + Self.batch, ids.count)])
                guard let details = try? await broker.details(some, queue: queue) else { break }
                for detail in details.compactMap({ $0 }) {
                    left -= detail.envelope.arguments.count
                    let row = EventRow((detail.id, detail.state), detail, of: nil)
                    rows[detail.id] = (row, detail.record.endedAt)
                }
            }
        }
    }

    private static func step(of batch: EventBatch) -> (id: OperationID, state: OperationState)? {
        guard batch.change == nil, batch.transitions.count == 1 else { return nil }
        let step = batch.transitions[0]
        return [.cancelled, .dead].contains(step.state) ? step : nil
    }

    /// The reason of an end; nil if the record has another end by now.
    ///
    /// - Parameter at: when the event was written, in milliseconds of server time.
    func text(of batch: EventBatch, at: Int64) -> String? {
        guard let step = Self.step(of: batch), let (row, endedAt) = rows[step.id], row.state == step.state,
            abs(at - endedAt) <= Self.apart
        else { return nil }
        return row.text
    }
}
