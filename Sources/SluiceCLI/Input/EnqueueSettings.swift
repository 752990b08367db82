import Foundation
import Operations
import Sluice
import TerminalText

/// The options of an enqueue, from the command line or from a line of a batch.
package struct EnqueueSettings: Sendable {
    var queue: String
    /// The queue if the command line or the line of the batch names one.
    var givenQueue: String?
    var priority: OperationPriority
    var delay: Duration?
    /// The start in milliseconds since 1970.
    var at: Int64?
    var tags: [String]
    var headers: [String: String]
    var id: String?
    var expires: Duration?
    var attempts: Int?
    var runTimeout: Duration?
    var noTrack: Bool
    var unique: String?
    var ifExists: DuplicatePolicy?
    var freshFor: Duration?
    var limitKey: String?
    var after: [OperationDependency] = []
    /// The groups that the operation enters.
    var groups: [IDReference] = []
    /// The groups whose callback the operation is. `check` accepts at most one.
    var callbacks: [CallbackRequest] = []
    /// Whether the command waits for the operation's end.
    var isAwaited = false

    func check() throws(CLIError) {
        guard delay == nil || at == nil else {
            throw .usage("--in and --at exclude each other", fix: "drop one of them")
        }
        guard !noTrack || (delay == nil && at == nil) else {
            throw .usage("a delayed operation is always tracked", fix: "drop --no-track")
        }
        guard !noTrack || !isAwaited else {
            throw .usage("an untracked operation cannot be waited for", fix: "drop --no-track")
        }
        guard unique != nil || ifExists == nil && freshFor == nil else {
            throw .usage(
                "--if-exists and --fresh-for need a unique key",
                fix: "add --unique KEY, or --unique auto"
            )
        }
        guard unique == nil || !noTrack else {
            throw .usage("an operation with a unique key is always tracked", fix: "drop --no-track")
        }
        guard limitKey == nil || !noTrack else {
            throw .usage("an operation with a limit key is always tracked", fix: "drop --no-track")
        }
        guard after.isEmpty || !noTrack else {
            throw .usage("an operation that waits for others is always tracked", fix: "drop --no-track")
        }
        try checkGroups()
        if case .debounce = ifExists, delay != nil || at != nil {
            throw .usage(
                "--if-exists debounce sets the start itself and excludes --in and --at",
                fix: "drop --in and --at"
            )
        }
        if let at { try Self.checkStart(at, "--at") }
        guard id.map({ !$0.isEmpty }) ?? true else { throw .usage("--id is empty", fix: "--id order-4711") }
    }

    /// Creates a request from the settings.
    ///
    /// - Parameter arguments: JSON in the form to store.
    func request(name: String, arguments: [UInt8]) throws -> EnqueueInput {
        try NameRule.check(queue, role: "queue")
        return EnqueueInput(
            queue: queue,
            name: name,
            operation: try options.operation(name: name, arguments: arguments, serverTime: nil),
            startsAt: at,
            isNamed: id != nil,
            groups: groups,
            callback: callbacks.first,
            givenQueue: givenQueue
        )
    }

    private var options: EnqueueOptions {
        var options = EnqueueOptions(.priority(priority), noTrack ? .untracked : .tracked)
        options.start = delay.map { .delay($0) }
        options.tags = tags
        options.headers = TraceContext.add(TraceContext.ofThisProcess, to: headers)
        options.id = id.map { OperationID(key: $0) }
        options.attempts = attempts
        options.expires = expires
        options.runTimeout = runTimeout
        options.limitKey = limitKey
        options.dependencies = after
        options.queue = queue
        options.uniqueness = unique.map {
            EnqueueOptions.Uniqueness(
                key: $0 == "auto" ? .automatic : UniqueKey($0),
                policy: ifExists ?? .join,
                freshFor: freshFor
            )
        }
        return options
    }

    /// Refuses a start more than 100 years away. Also refuses a start in the past: probably a mistake, since an
    /// immediate start needs no time.
    private static func checkStart(_ at: Int64, _ name: String) throws(CLIError) {
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        guard (try? TimeLimit.delay(until: Double(at), now: now)) != nil else {
            throw .usage(
                "\(name) \(TimeText.rfc3339(at)) is more than 100 years away",
                fix: "\(name) \(TimeText.rfc3339(now + 3_600_000))"
            )
        }
        guard at < now else { return }
        throw .usage(
            "\(name) \(TimeText.rfc3339(at)) is in the past (\(TimeText.relative(at, now: now)))",
            fix: "to run it now drop \(name)"
        )
    }
}
