import Operations
import Synchronization

/// One line that a program writes to descriptor 3: a JSON object with at least one of these members.
///
/// - `progress`: 0 to 1, and optionally `message`.
/// - `checkpoint`: any JSON, at most 64 KiB; the next run finds it in `SLUICE_CHECKPOINT`.
/// - `error`: a sentence, and optionally `type` (a word to group by), `then` (`retry`, which is the default, `dead` or `discard`) and
///   `after` (seconds before which no retry starts; a longer pause of the retry policy holds). It counts if the program then exits with another code than 0.
struct ProgramReport {
    /// What follows an error.
    enum Decision: String {
        case retry, dead, discard
    }

    struct Failure {
        var message: String
        var type: String?
        var decision = Decision.retry
        var pause: Duration?
    }

    var progress: (fraction: Double, message: String)?
    var checkpoint: JSONValue?
    var failure: Failure?

    /// Longer words are for the log.
    private static let messageLength = 500
    private static let typeLength = 64

    /// - Throws: `Fault` if the line is no report.
    init(_ line: String) throws(Fault) {
        let object: JSONObject
        do {
            guard let found = try JSONValue(parsing: line).objectValue else { throw Fault(description: "is no object") }
            object = found
        } catch { throw Fault(description: "is no JSON object") }
        if let value = object["progress"] {
            guard let fraction = value.doubleValue else {
                throw Fault(description: "has a \"progress\" that is no number")
            }
            progress = (fraction, (object["message"]?.stringValue ?? "").cut(toCharacters: Self.messageLength))
        }
        checkpoint = object["checkpoint"]
        if let value = object["error"] { failure = try Self.failure(value, object) }
        guard progress != nil || checkpoint != nil || failure != nil else {
            throw Fault(description: "has neither \"progress\" nor \"checkpoint\" nor \"error\"")
        }
    }

    private static func failure(_ value: JSONValue, _ object: JSONObject) throws(Fault) -> Failure {
        guard let message = value.stringValue else { throw Fault(description: "has an \"error\" that is no string") }
        var failure = Failure(message: message)
        failure.type = object["type"]?.stringValue.map { String($0.prefix(typeLength)) }
        if let word = object["then"] {
            guard let decision = word.stringValue.flatMap(Decision.init) else {
                throw Fault(description: "has another \"then\" than retry, dead or discard")
            }
            failure.decision = decision
        }
        if let seconds = object["after"] {
            guard let seconds = seconds.doubleValue, seconds >= 0, seconds <= RetryAfter.longest.inSeconds else {
                throw Fault(description: "has an \"after\" that is no number of seconds within a day")
            }
            failure.pause = .seconds(seconds)
        }
        return failure
    }

    /// Why a line is no report.
    struct Fault: Error {
        let description: String
    }
}

/// Takes the lines that a program writes to descriptor 3.
final class ReportChannel: Sendable {
    private struct State {
        var error: ProgramReport.Failure?
        var faults = 0
    }

    /// More complaints would push the program's own lines out of the log.
    private static let mostComplaints = 3
    private let context: OperationContext
    private let state = Mutex(State())

    init(_ context: OperationContext) { self.context = context }

    /// The last error that it reported.
    var error: ProgramReport.Failure? { state.withLock { $0.error } }

    func take(_ line: String) {
        guard !line.isEmpty else { return }
        do {
            let report = try ProgramReport(line)
            if let progress = report.progress { context.progress(progress.fraction, progress.message) }
            if let failure = report.failure { state.withLock { $0.error = failure } }
            if let checkpoint = report.checkpoint { try context.checkpoint(json: checkpoint.serializedBytes()) }
        } catch let fault as ProgramReport.Fault {
            complain("\(OperationsError.quoted(line)) \(fault.description)")
        } catch { complain("\(error)") }
    }

    /// Says what was not said of lines that were no reports.
    func close() {
        let rest = state.withLock { $0.faults } - Self.mostComplaints
        if rest > 0 { context.log("sluice: descriptor 3: \(rest) more lines were ignored") }
    }

    private func complain(_ text: String) {
        let count = state.withLock { state in
            state.faults += 1
            return state.faults
        }
        if count <= Self.mostComplaints { context.log("sluice: descriptor 3: \(text): ignored") }
    }
}
