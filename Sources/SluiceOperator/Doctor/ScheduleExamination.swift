import Operations
import Schedules
import TerminalText

extension Doctor {
    /// Finds schedules that have stalled although they are neither paused nor at their end.
    package mutating func examineSchedules(_ snapshot: QueueSnapshot) async throws {
        for stored in try await broker.allSchedules(queue: snapshot.queue) {
            let schedule = OperationSchedule(stored, queue: snapshot.queue)
            let examination = ScheduleExamination(
                schedule: schedule,
                time: snapshot.time,
                hasLiveWorkers: !snapshot.liveWorkers.isEmpty
            )
            if let diagnosis = examination.diagnosis { chart.add(diagnosis) }
        }
    }
}

/// Finds the problem of a schedule.
package struct ScheduleExamination {
    /// The largest delay of an instant in milliseconds. Another worker takes over an instant after one heartbeat
    /// interval.
    package static let patience: Int64 = 300_000

    package let schedule: OperationSchedule
    /// The server's time in milliseconds.
    package let time: Int64
    package let hasLiveWorkers: Bool

    package var diagnosis: Diagnosis? {
        switch schedule.state {
        case .paused: nil
        case .stopped:
            finding(
                .warning,
                "stopped",
                "a worker stopped this schedule because of an error: \(schedule.fault ?? "")",
                ScheduleText.fix(schedule)
            )
        case .over:
            schedule.definition?.next(after: time).map { next in
                finding(
                    .error,
                    "noInstant",
                    "this schedule has no next run stored, although its definition gives one at "
                        + TimeText.rfc3339(next),
                    setAnew
                )
            }
        case .active: overdue
        }
    }

    private var overdue: Diagnosis? {
        guard let due = schedule.stored.due, time - due > Self.patience else { return nil }
        let late = "this schedule was due \(TimeText.relative(due, now: time)), and has enqueued nothing"
        guard hasLiveWorkers else {
            return finding(
                .warning,
                "overdue",
                late + ": no live worker",
                remedy: .startWorker(queue: schedule.queue, handler: nil)
            )
        }
        return finding(.error, "overdue", late + ", though workers live", setAnew)
    }

    /// The command that computes the next instant again and wakes the workers.
    private var setAnew: String {
        let place = "\(schedule.id) -q \(schedule.queue)"
        return "\(Program.name) schedule pause \(place) && \(Program.name) schedule resume \(place)"
    }

    private func finding(
        _ severity: Diagnosis.Severity,
        _ code: String,
        _ message: String,
        _ fix: String? = nil,
        remedy: Remedy? = nil
    ) -> Diagnosis {
        Diagnosis(severity, code, queue: schedule.queue, schedule.id, message, fix: fix)
            .about(.schedule(schedule.id, queue: schedule.queue), remedy: remedy)
    }
}
