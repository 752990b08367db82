import Operations
import Selectors
import Sluice
import SluiceOperator
import TerminalText

/// Sets a standing cancel in each queue of a query: `cancel --until`.
struct StandingCancelling: Sendable {
    /// The longest duration. A forgotten standing cancel with a longer duration would end operations unexpectedly.
    static let longest: Duration = .seconds(30 * 86_400)
    private static let fields: Set<OperationQuery.Field> = [.name, .tag, .args, .queue]

    let client: SluiceClient
    let invocation: Invocation
    let query: OperationQuery
    let text: String
    let duration: Duration
    let reason: String

    /// Checks the options of a standing cancel.
    ///
    /// - Throws: `.usage` without a query, for a duration of zero or above `longest`, for an unsuitable field, or for a
    ///   query that is too long.
    static func check(_ selection: Selection, _ duration: Duration) throws(CLIError) {
        guard selection.isQuery else {
            throw .usage("--until needs a query", fix: "\(Program.name) cancel -w 'name:Send*' --until 10m")
        }
        guard duration > .zero, duration <= longest else {
            throw .usage(
                "--until is \(DurationText.exact(duration)); expected more than 0s and at most 30d",
                fix: "--until 10m"
            )
        }
        for term in try selection.parsed().terms where !fields.contains(term.field) {
            throw .usage(
                "--until compares operations before they begin, and cannot compare \(term.field.rawValue)",
                fix: "use name:, tag:, args.PATH: and queue: only"
            )
        }
        guard try text(of: selection).utf8.count <= StandingCancel.queryBytes else {
            throw .usage("the query of a standing cancel has at most 1,024 bytes", fix: "shorten it")
        }
    }

    /// The query in the form to store.
    static func text(of selection: Selection) throws(CLIError) -> String {
        var words = selection.query
        if !selection.tag.isEmpty {
            let tags = selection.tag.map { tag in
                "\"" + tag.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
            }
            words.append("tag:" + tags.joined(separator: ","))
        }
        let text = words.joined(separator: " ").split(whereSeparator: \.isNewline).joined(separator: " ")
        return text
    }

    /// Sets the standing cancels. After the return, a matching operation that is enqueued does not start before the
    /// standing cancels end.
    func set() async throws {
        let queues = query.queues(of: try await client.queues())
        for queue in queues {
            let new = NewStandingCancel(
                query: text,
                milliseconds: duration.wholeMilliseconds,
                by: SluiceClient.identity,
                reason: reason
            )
            guard let set = try await client.broker.setStandingCancel(new, queue: queue) else {
                throw CLIError(
                    .refused,
                    "queue \(queue) has \(StandingCancel.limit) standing cancels, which is the limit",
                    fix: "\(Program.name) cancels rm \(queue)/ID"
                )
            }
            let until = TimeText.rfc3339(set.endsAt)
            invocation.console.note("standing cancel \(queue)/\(set.id) until \(until)")
        }
        if queues.isEmpty { invocation.console.warn("no queue matches: no standing cancel was set") }
    }
}
