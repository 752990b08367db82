import Operations
import TerminalText

/// The steps in the life of an operation, in order of time.
package struct OperationTimeline: Sendable {
    package struct Step: Sendable, Equatable {
        /// The time of the step. All times here are milliseconds of server time.
        package var at: Int64
        package var text: String
        package var role: TextRole = .plain
        /// The duration until the next step, or until now; nil = the last step, or a future one.
        package var lasted: Int64?
    }

    package private(set) var steps: [Step]
    /// The end of the last step.
    package let end: Int64

    /// - Parameters:
    ///   - worker: the label of its worker.
    ///   - now: the server's time; nil = unknown.
    package init(_ detail: OperationDetail, worker: String, now: Int64?) {
        let record = detail.record
        var steps = [Step(at: record.enqueuedAt, text: "enqueued")]
        if record.dueAt > 0 { steps.append(Step(at: record.dueAt, text: "due")) }
        for error in detail.errors {
            let failure = error.failure
            steps.append(Step(at: error.at, text: "attempt \(failure.attempt) failed: \(failure.type)", role: .dead))
        }
        for recovery in detail.recoveries {
            steps.append(Step(at: recovery.startedAt, text: "started on \(recovery.place)", role: .executing))
            let text = "came back: \(recovery.place) was lost: \(recovery.cause.sentence)"
            steps.append(Step(at: recovery.at, text: text, role: .dead))
        }
        if record.startedAt > 0, record.startedAt != detail.recoveries.last?.startedAt {
            let place = detail.state == .executing ? " on \(worker)" : ""
            steps.append(Step(at: record.startedAt, text: "started" + place, role: .executing))
        }
        steps += Self.cancelSteps(detail.cancel)
        if record.endedAt > 0 {
            steps.append(Step(at: record.endedAt, text: detail.state.rawValue, role: detail.state.role))
        }
        let sorted = steps.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
        self.steps = sorted.map(\.element)
        let last = self.steps[self.steps.count - 1].at
        end = record.endedAt > 0 ? last : max(last, now ?? last)
        measure(hasEnded: record.endedAt > 0, now: now)
        // The operation waits again, but Redis does not store since when.
        if !detail.state.isTerminal, detail.state != .executing, self.steps[self.steps.count - 1].role == .executing {
            self.steps[self.steps.count - 1].lasted = nil
        }
    }

    private mutating func measure(hasEnded: Bool, now: Int64?) {
        for index in steps.indices.dropLast() { steps[index].lasted = steps[index + 1].at - steps[index].at }
        let last = steps.count - 1
        if !hasEnded, let now, now >= steps[last].at { steps[last].lasted = now - steps[last].at }
    }

    private static func cancelSteps(_ trace: CancelTrace?) -> [Step] {
        guard let trace else { return [] }
        let asked = "cancel requested by \(trace.by)" + (trace.reason.isEmpty ? "" : ": \(trace.reason)")
        let others = [(trace.acknowledgedAt, "cancel acknowledged"), (trace.stoppedAt, "stopped")]
        return [Step(at: trace.requestedAt, text: asked, role: .cancelled)]
            + others.compactMap { at, text in at.map { Step(at: $0, text: text, role: .cancelled) } }
    }

    /// Returns the position of a step in a bar: the cells before it, and its own cells, at least one.
    package func place(of step: Step, width: Int) -> (before: Int, cells: Int) {
        let start = steps[0].at
        let span = Double(max(1, end - start))
        let before = min(max(0, width - 1), Int(Double(step.at - start) / span * Double(width)))
        let cells = Int((Double(step.lasted ?? 0) / span * Double(width)).rounded())
        return (before, min(max(1, cells), width - before))
    }
}
