import Operations
import Sluice
import SluiceOperator
import TerminalText

/// Links of schedules.
enum ScheduleLink {
    static func to(_ schedule: OperationSchedule, _ links: Links) -> Link {
        links.to("schedules", "show", query: ["queue": schedule.queue, "id": schedule.id])
    }

    static func to(_ action: ScheduleAction, _ schedule: OperationSchedule, _ links: Links) -> Link {
        links.to("schedules", action.rawValue, query: ["schedule": ScheduleName(schedule).text])
    }
}

extension OperationSchedule.State {
    var role: TextRole {
        switch self {
        case .active: .plain
        case .paused: .warning
        case .over: .dim
        case .stopped: .dead
        }
    }
}

/// The last runs of a schedule as marks in a row, oldest first.
enum RunStrip {
    private static let height = 16

    static func markup(_ history: ScheduleHistory) -> Markup {
        let runs = history.runs
        guard !runs.isEmpty else { return tag("span", .class("dim"), text: "–") }
        let failed = runs.count { $0.hasFailed }
        let label = "\(runs.count) runs" + (failed > 0 ? ", \(failed) failed or missed" : "")
        return tag(
            "svg",
            .class("strip"),
            .named("viewBox", "0 0 \(runs.count * 8) \(height)"),
            .named("width", "\(runs.count * 8)"),
            .named("height", "\(height)"),
            .named("role", "img"),
            .named("aria-label", label)
        ) { runs.enumerated().map { index, run in mark(run, at: index) } }
    }

    /// Heights differ with the outcome, so that colours are not needed to tell them apart.
    private static func mark(_ run: ScheduleHistory.Run, at index: Int) -> Markup {
        let size = run.hasFailed ? height : run.outcome == .unknown ? 2 : 10
        return tag(
            "rect",
            .class(run.role.className.isEmpty ? "waiting" : run.role.className),
            .named("x", "\(index * 8)"),
            .named("width", "6"),
            .named("y", "\(height - size)"),
            .named("height", "\(size)")
        ) { tag("title", text: "\(TimeText.rfc3339(run.instant)) \(run.text)") }
    }
}

extension ScheduleHistory.Run {
    var hasFailed: Bool {
        switch outcome {
        case .enqueued(let state): [.dead, .cancelled, .expired].contains(state)
        case .missed, .overlapped: true
        case .unknown: false
        }
    }

    var role: TextRole {
        switch outcome {
        case .enqueued(let state): state.role
        case .missed, .overlapped: .warning
        case .unknown: .dim
        }
    }
}
