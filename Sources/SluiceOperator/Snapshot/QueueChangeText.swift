import Operations
import TerminalText

extension QueueChange {
    /// The verb, as on the command line.
    package var word: String {
        switch verb {
        case .cancelQueue, .setStandingCancel: "cancel"
        case .removeStandingCancel: "cancels rm"
        case .setSchedule: "schedule add"
        case .pauseSchedule: "schedule pause"
        case .resumeSchedule: "schedule resume"
        case .removeSchedule: "schedule rm"
        case .runSchedule: "schedule run"
        case .startChange: "change started"
        case .endChange: "change ended"
        case .removeChange: "change removed"
        case .stopSchedule: "schedule stopped"
        case .recover: "recovered"
        default: verb.rawValue
        }
    }

    /// The change as something that was done: `retried`, `paused the queue`.
    package var deed: String {
        switch verb {
        case .cancel: "cancelled"
        case .cancelQueue: "cancelled the queue"
        case .retry: "retried"
        case .edit: "edited"
        case .hold: "held"
        case .release: "released"
        case .remove: "removed"
        case .purge: "purged the queue"
        case .pause: "paused the queue"
        case .resume: "resumed the queue"
        case .limit: "set limits"
        case .control: "asked a worker"
        case .depend: "added a dependency"
        case .setStandingCancel: "set a standing cancel"
        case .removeStandingCancel: "removed a standing cancel"
        case .setSchedule: "set a schedule"
        case .pauseSchedule: "paused a schedule"
        case .resumeSchedule: "resumed a schedule"
        case .removeSchedule: "removed a schedule"
        case .runSchedule: "ran a schedule"
        case .stopSchedule: "stopped a schedule"
        case .enqueue: "enqueued"
        case .rerun: "enqueued again"
        case .startChange, .endChange, .removeChange, .recover: word
        }
    }

    /// The object of the change: the number of operations, or the worker and its setting.
    package var sentence: String { sentence(naming: nil) }

    /// Returns `sentence`, with the id of the only operation instead of the number.
    package func sentence(naming id: OperationID?) -> String {
        // These have their numbers in the text.
        if [.startChange, .endChange, .removeChange].contains(verb) { return detail }
        let whole = verb == .cancelQueue ? "the whole queue" : ""
        let number = count > 0 ? QuantityText.operations(count) : ""
        return [whole, id?.description ?? number, shownDetail].filter { !$0.isEmpty }.joined(separator: ", ")
    }

    /// The author. A recovery has the id of the lost worker, and its name is shown where it is known.
    package func author(_ nameOfWorker: (String) -> String?) -> String {
        verb == .recover ? nameOfWorker(by) ?? by : by
    }

    /// The detail, with its duration as people read it: `for 36000 s` is `for 10h`.
    private var shownDetail: String {
        let match: Regex<(Substring, Substring)>.Match?
        switch verb {
        case .pause: match = detail.prefixMatch(of: /for ([0-9]+(?:\.[0-9]+)?) s(?=,|$)/)
        case .setStandingCancel: match = detail.firstMatch(of: /for ([0-9]+(?:\.[0-9]+)?) s(?=,|$)/)
        default: match = nil
        }
        guard let match, let duration = try? DurationText.parse("\(match.1)s") else { return detail }
        return detail.replacingCharacters(in: match.range, with: "for " + DurationText.exact(duration))
    }

    /// The stored change of many operations that the event is about.
    package var storedChange: OperationID? {
        guard [.startChange, .endChange, .removeChange].contains(verb) else { return nil }
        return OperationID(String(detail.prefix(OperationID.characterCount)))
    }
}
