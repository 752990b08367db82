import Operations
import Schedules
import TerminalText

/// The last instants of a schedule, each with the operation that it enqueued.
///
/// Redis stores no list of runs. Schedule and instant determine the id of the operation, so the records of the last
/// instants are read by their ids.
package struct ScheduleHistory: Sendable, Equatable {
    package enum Outcome: Sendable, Equatable {
        /// The operation exists, in this state.
        case enqueued(OperationState)
        /// No worker enqueued the operation in time.
        case missed
        /// An earlier operation was in flight.
        case overlapped
        /// Redis has no operation of the instant: nothing was enqueued, or the operation has been removed since.
        case unknown
    }

    package struct Run: Sendable, Equatable {
        /// Milliseconds of server time.
        package var instant: Int64
        package var id: OperationID
        package var outcome: Outcome

        /// The outcome in words.
        package var text: String {
            switch outcome {
            case .enqueued(let state): state.rawValue
            case .missed: "missed: no worker enqueued it in time"
            case .overlapped: "not enqueued: an earlier operation was in flight"
            case .unknown: "no record: not enqueued, or removed since"
            }
        }
    }

    /// The runs, oldest first.
    package var runs: [Run]

    /// Reads the histories of schedules, with one read for each queue.
    ///
    /// - Parameters:
    ///   - count: the most runs of each schedule.
    ///   - now: the server's time in milliseconds.
    package static func read(
        _ schedules: [OperationSchedule],
        count: Int,
        now: Int64,
        _ broker: any MonitorBroker
    ) async throws -> [ScheduleHistory] {
        let instants = schedules.map { $0.definition?.last(count, upTo: now) ?? [] }
        var ids: [String: [OperationID]] = [:]
        for (schedule, instants) in zip(schedules, instants) {
            ids[schedule.queue, default: []] += instants.map { Self.id($0, of: schedule) }
        }
        let known = try await states(ids, broker)
        return zip(schedules, instants).map { schedule, instants in
            ScheduleHistory(schedule, instants, states: known)
        }
    }

    private static func id(_ instant: Int64, of schedule: OperationSchedule) -> OperationID {
        ScheduleDefinition.operationID(schedule: schedule.id, queue: schedule.queue, instant: instant)
    }

    private static func states(
        _ ids: [String: [OperationID]],
        _ broker: any MonitorBroker
    ) async throws -> [OperationID: OperationState] {
        try await withThrowingTaskGroup(of: [(OperationID, OperationState)].self) { group in
            for (queue, ids) in ids where !ids.isEmpty {
                group.addTask {
                    let details = try await broker.allDetails(ids, queue: queue)
                    return zip(ids, details).compactMap { id, detail in detail.map { (id, $0.state) } }
                }
            }
            return try await group.reduce(into: [:]) { states, found in
                for (id, state) in found { states[id] = state }
            }
        }
    }

    private init(_ schedule: OperationSchedule, _ instants: [Int64], states: [OperationID: OperationState]) {
        let stored = schedule.stored
        runs = instants.compactMap { instant in
            let id = Self.id(instant, of: schedule)
            if let state = states[id] { return Run(instant: instant, id: id, outcome: .enqueued(state)) }
            if instant == stored.runs.overlappedAt { return Run(instant: instant, id: id, outcome: .overlapped) }
            if instant == stored.runs.missedAt { return Run(instant: instant, id: id, outcome: .missed) }
            // The schedule may not have existed at an instant before its last change, or may have been paused.
            if schedule.state == .paused || instant <= stored.changedAt { return nil }
            // The instant has come, and a worker may be about to enqueue the operation.
            if let due = stored.due, instant >= due { return nil }
            return Run(instant: instant, id: id, outcome: .unknown)
        }
    }
}
