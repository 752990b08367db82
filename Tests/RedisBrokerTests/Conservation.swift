import Operations
import BrokerModel

/// Checks that every operation is in exactly one place, and that its record names this place.
struct Conservation {
    typealias Place = QueueLayout.Place
    private var places: [OperationID: [Place]] = [:]
    private let isComplete: Bool

    /// - Parameter isComplete: false if the layout contains only the newest ended operations.
    init(_ layout: QueueLayout, isComplete: Bool) {
        self.isComplete = isComplete
        places.reserveCapacity(layout.places.count)
        for (id, place) in layout.places { places[id, default: []].append(place) }
    }

    /// - Returns: the first operation that is in no place, in two places, or in another place than its record states.
    func violation(in operations: [OperationID: OperationDetail?]) -> String? {
        for (id, detail) in operations {
            let expected = detail.map { Self.expected($0) }
            var real = places[id] ?? []
            // Stale references in a lane or a batch are no places. The set of an older batch is no place of an
            // operation that was retried out of it.
            real.removeAll { Self.canBeLeftBehind($0) && $0 != expected }
            if real.count > 1, real.allSatisfy(Self.isBatch) { real = [real[0]] }
            if real.isEmpty, Self.isInBatchReady(detail), places[id]?.contains(.batchSet(.ready)) == true { continue }
            if real.isEmpty, !isComplete, detail?.record.state.isTerminal == true { continue }
            if Self.isOverdueReady(detail), real == [.set(.ready)] { continue }
            if real != (expected.map { [$0] } ?? []) {
                return "\(id) is \(detail.map { "\($0.record.state)" } ?? "removed"), but lies in \(real)"
            }
        }
        return twice()
    }

    /// Whether an operation is ready in a cancelled queue. Such an operation may have been unhandled.
    private static func isInBatchReady(_ detail: OperationDetail?) -> Bool {
        detail.map { $0.state == .cancelled && $0.record.state == .ready } ?? false
    }

    /// Whether an operation is ready beyond its deadline. Such an operation may be unhandled, or wait for its limit
    /// key.
    private static func isOverdueReady(_ detail: OperationDetail?) -> Bool {
        detail.map { $0.state == .expired && $0.record.state == .ready } ?? false
    }

    private static func isBatch(_ place: Place) -> Bool {
        switch place {
        case .batch, .batchSet, .untrackedInBatch: true
        case .lane, .untrackedInLane, .set, .inFlight, .ended: false
        }
    }

    private static func canBeLeftBehind(_ place: Place) -> Bool {
        if case .lane = place { return true }
        return isBatch(place)
    }

    private static func expected(_ detail: OperationDetail) -> Place? {
        let (state, header) = (detail.record.state, detail.record.header)
        let isInBatch = detail.state == .cancelled && state != .cancelled
        switch state {
        // In a cancelled queue, the record does not show whether the operation was unhandled.
        case .ready where detail.isUnhandled || detail.waitsForKey: return .set(.ready)
        case .ready:
            return isInBatch
                ? .batch(revision: header.revision, sequence: header.sequence)
                : .lane(revision: header.revision, sequence: header.sequence)
        case .executing: return .inFlight
        case .scheduled, .retrying, .blocked: return isInBatch ? .batchSet(state) : .set(state)
        case .finished, .dead, .cancelled, .expired: return .ended(state)
        }
    }

    /// Returns an operation that is held twice, or an untracked one that is in two places.
    private func twice() -> String? {
        for (id, list) in places where list.count > 1 {
            let counted = list.filter { place in
                switch place {
                case .untrackedInLane, .untrackedInBatch, .inFlight, .ended: true
                case .lane, .set, .batch, .batchSet: false
                }
            }
            if counted.count > 1 { return "\(id) lies in \(counted)" }
        }
        return nil
    }
}
