import Operations
import Synchronization

/// A line that a program writes to descriptor 3: a JSON object with at least one of these members.
///
/// - `progress`: 0 to 1, and optionally `message`.
/// - `checkpoint`: any JSON, at most 64 KiB; the next run finds it in `SLUICE_CHECKPOINT`.
/// - `snooze`: seconds, at most a day, until the program runs again if its exit code is 75.
/// - `error`: a sentence, and optionally `type` (a word to group by), `then` (`retry`, the default, `dead` or
///   `discard`) and `after` (the shortest pause before a retry, in seconds; a longer pause of the retry policy stays).
///   Used if the exit code is not 0. With exit code 75 the sentence is the reason of the snooze.
struct ProgramReport {
    /// The decision after an error.
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
    var snooze: Duration?

    /// The longest message of a progress report, in characters. Longer text belongs in the log.
    private static let messageLength = 500
    private static let typeLength = 64

    /// - Throws: `Fault` if the line is not a report.
    init(_ line: String) throws(Fault) {
        let object: JSONObject
        do {
            guard let found = try JSONValue(parsing: line).objectValue else {
                throw Fault(description: "is not a JSON object")
            }
            object = found
        } catch { throw Fault(description: "is not a JSON object") }
        if let value = object["progress"] {
            guard let fraction = value.doubleValue else {
                throw Fault(description: "has a \"progress\" that is not a number")
            }
            progress = (fraction, (object["message"]?.stringValue ?? "").cut(toCharacters: Self.messageLength))
        }
        checkpoint = object["checkpoint"]
        if let value = object["error"] { failure = try Self.failure(value, object) }
        snooze = try Self.seconds("snooze", object)
        guard progress != nil || checkpoint != nil || failure != nil || snooze != nil else {
            throw Fault(description: "has neither \"progress\" nor \"checkpoint\" nor \"snooze\" nor \"error\"")
        }
    }

    private static func failure(_ value: JSONValue, _ object: JSONObject) throws(Fault) -> Failure {
        guard let message = value.stringValue else { throw Fault(description: "has an \"error\" that is not a string") }
        var failure = Failure(message: message)
        failure.type = object["type"]?.stringValue.map { String($0.prefix(typeLength)) }
        if let word = object["then"] {
            guard let decision = word.stringValue.flatMap(Decision.init) else {
                throw Fault(description: "has a \"then\" that is not retry, dead or discard")
            }
            failure.decision = decision
        }
        failure.pause = try seconds("after", object)
        return failure
    }

    private static func seconds(_ key: String, _ object: JSONObject) throws(Fault) -> Duration? {
        guard let value = object[key] else { return nil }
        guard let seconds = value.doubleValue, seconds >= 0, seconds <= RetryAfter.longest.inSeconds else {
            throw Fault(description: "has a \"\(key)\" that is not a number of seconds within a day")
        }
        return .seconds(seconds)
    }

    /// The reason for which a line is not a report.
    struct Fault: Error {
        let description: String
    }
}

/// Reads the lines that a program writes to descriptor 3.
final class ReportChannel: Sendable {
    private struct State {
        var error: ProgramReport.Failure?
        var snooze: Duration?
        var faults = 0
    }

    /// The most invalid lines to log. More lines would push the program's own lines out of the log.
    private static let mostComplaints = 3
    private let context: OperationContext
    private let state = Mutex(State())

    init(_ context: OperationContext) { self.context = context }

    /// The last error that the program reported.
    var error: ProgramReport.Failure? { state.withLock { $0.error } }

    /// How long exit code 75 snoozes, as the program last reported.
    var snooze: Duration? { state.withLock { $0.snooze } }

    func take(_ line: String) {
        guard !line.isEmpty else { return }
        do {
            let report = try ProgramReport(line)
            if let progress = report.progress { context.progress(progress.fraction, progress.message) }
            if let failure = report.failure { state.withLock { $0.error = failure } }
            if let snooze = report.snooze { state.withLock { $0.snooze = snooze } }
            if let checkpoint = report.checkpoint { try context.checkpoint(json: checkpoint.serializedBytes()) }
        } catch let fault as ProgramReport.Fault {
            complain("\(OperationsError.quoted(line)) \(fault.description)")
        } catch { complain("\(error)") }
    }

    /// Logs the number of further invalid lines.
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
