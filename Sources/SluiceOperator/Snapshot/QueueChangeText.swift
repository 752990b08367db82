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
        case .stopSchedule: "schedule stopped"
        case .recover: "recovered"
        default: verb.rawValue
        }
    }

    /// The object of the change: the number of operations, or the worker and its setting.
    package var sentence: String { sentence(naming: nil) }

    /// Returns `sentence`, with the id of the only operation instead of the number.
    package func sentence(naming id: OperationID?) -> String {
        let whole = verb == .cancelQueue ? "the whole queue" : ""
        let number = count > 0 ? "\(QuantityText.grouped(Int64(count))) operation\(count == 1 ? "" : "s")" : ""
        return [whole, id?.description ?? number, detail].filter { !$0.isEmpty }.joined(separator: ", ")
    }
}
