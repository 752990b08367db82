import BuiltinOperations
import EmbeddedRedis
import Operations
import Selectors
import Sluice
import SluiceOperator
import TerminalText

/// The additional checks of `enqueue --dry-run`: arguments of built-in operations, and whether a worker handles the
/// names.
struct DryEnqueue: Sendable {
    private let invocation: Invocation
    /// The arguments of built-in operations that this program does not replace.
    private let known: [String: [BuiltinReference.Argument]]

    init(_ invocation: Invocation) {
        self.invocation = invocation
        var registry = OperationRegistry()
        invocation.register(&registry)
        let own = Set(registry.names)
        known = BuiltinReference.all.reduce(into: [:]) { known, builtin in
            if !own.contains(builtin.name) { known[builtin.name] = builtin.arguments }
        }
    }

    /// Checks a request.
    ///
    /// - Throws: `.usage` for an unknown argument of a built-in operation, for one in the wrong form, or for a missing
    ///   one.
    func check(_ request: EnqueueInput) async throws {
        if let mistake = mistake(in: request) {
            throw CLIError.usage(
                mistake,
                fix: "NAME=TEXT passes a text, NAME:=JSON a number or a list; \(Program.name) help built-ins"
            )
        }
        await warn([(request.queue, request.name)])
    }

    /// Checks a batch.
    ///
    /// - Throws: the error of the first wrong line.
    func check(_ batch: Batch, _ errors: LineErrors) async throws {
        for request in batch.requests {
            if let mistake = mistake(in: request) { throw errors.error(request.line, mistake) }
        }
        await warn(batch.namesAndQueues)
    }

    private func mistake(in request: EnqueueInput) -> String? {
        guard let arguments = known[request.name],
            let bytes = try? OperationEnvelope(request.operation.envelope).arguments,
            let given = try? JSONValue(parsing: bytes).objectValue
        else { return nil }
        let names = arguments.map(\.name)
        if let key = given.keys.first(where: { !names.contains($0) }) {
            let near = Suggestion.nearest(to: key, among: names).map { "; did you mean \"\($0)\"?" }
            let list = "; it takes \(names.joined(separator: ", "))"
            return "\(request.name) has no argument \(OperationsError.quoted(key))\(near ?? list)"
        }
        do { try BuiltinOperations.check(bytes, of: request.name) } catch { return "\(error)" }
        return nil
    }

    /// Warns about names without a worker. Asks Redis only if it runs; starts no server.
    private func warn(_ pairs: [(queue: String, name: String)]) async {
        let settings = invocation.settings
        if settings.redis.content == nil, (try? Connector.embeddedRedis(settings).status()) == nil {
            return invocation.console.note("no Redis runs here, so no worker was asked what it handles")
        }
        do {
            let client = try await invocation.connect()
            await QueueCheck(client, done: "well-formed").warn(pairs, console: invocation.console)
            await client.close()
        } catch {
            let report = ErrorTranslation.report(error, settings: invocation.settings)
            invocation.console.note("no worker was asked what it handles: \(SafeText.line(report.message))")
        }
    }
}
