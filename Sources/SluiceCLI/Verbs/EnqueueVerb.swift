import ArgumentParser
import Operations
import RedisClient
import Sluice
import SluiceOperator
import TerminalText

package struct EnqueueVerb: Verb {
    package static let formats: Set<OutputFormat> = .jsonAndIDs
    package static let effect = VerbEffect.adds

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "enqueue",
            abstract: "Put operations into a queue.",
            usage: """
                \(Program.name) enqueue NAME [k=text | k:=json | k=@file].. [options]
                \(Program.name) enqueue NAME --args JSON|- [options]
                \(Program.name) enqueue [options] -- PROGRAM ARG..
                \(Program.name) enqueue --lines FILE|- [options]
                \(Program.name) enqueue --batch FILE|- [options]
                """,
            discussion: """
                EXAMPLES
                  \(Program.name) enqueue sleep seconds:=3 -p high -q mail
                  \(Program.name) enqueue --wait -- sh -c 'echo hello'
                  \(Program.name) enqueue --cwd /srv --env LEVEL=3 --stdin list.txt -- ./sort.sh
                  find . -name '*.png' -printf 'optipng "%p"\\n' | \(Program.name) enqueue --lines -
                  \(Program.name) enqueue sync account:=7 --unique 'sync 7' --if-exists replace
                  \(Program.name) enqueue import file=a.csv -q imports --limit-key acme --header tenant=acme
                  \(Program.name) enqueue sync page:=1 --group $group
                  \(Program.name) enqueue report --on-success $group
                  id=$(\(Program.name) enqueue sleep seconds:=60 --in 10m -o id)
                  \(Program.name) enqueue cleanup --after $id:run
                  \(Program.name) enqueue --batch operations.jsonl

                k=text is a string, k:=json any JSON, k=@file the text of a file.
                After -- write a program and its arguments: an exec operation, without a shell. Only workers with --allow exec run it. \
                Its stdin is empty unless --stdin is given.
                Built-in operations, their arguments and the environment of programs: \(Program.name) help built-ins
                --unique, if the key is taken: join and skip enqueue nothing and name the existing operation; replace \
                cancels it and runs after its end; enqueue runs after it; keepLatest and debounce=TIME replace waiting \
                operations, and let an executing one continue.
                --lines reads one command a line. Spaces separate words; '…', "…" and \\ quote as in a shell; $, *, |, > and ; have no \
                special meaning (for those: sh -c '…'). Empty lines and lines that begin with # are skipped. --cwd, --env and --stdin \
                apply to each command.
                --on-success, --on-end and --on-first-death make the operation a callback of a group: it is enqueued \
                into the group's queue, is blocked until that event, and is removed once the event can no longer \
                happen. Groups: \(Program.name) group --help
                If --durability is not reached in time, the command warns and succeeds: the operation is stored.
                --batch reads one JSON object a line: name, and optionally args, queue, priority, in, at, tags, headers, id, expires, \
                attempts, runTimeout, track, unique, ifExists, freshFor, key, after, group, \
                onSuccess, onEnd, onFirstDeath. All lines of a file are checked before the first operation is sent.
                """
        )
    }

    @Argument(help: ArgumentHelp("Name of the operation, then its arguments.", valueName: "name k=v"))
    var words: [String] = []
    /// The words after `--`; see `CommandLineRewriter`.
    @Option(name: .customLong("program-word"), help: .hidden, transform: { String($0.dropFirst()) })
    var program: [String] = []
    @Option(help: ArgumentHelp("Pass all arguments as one JSON value; - reads it from stdin.", valueName: "json"))
    var args: String?
    @Option(
        help: ArgumentHelp(
            "Enqueue the operations in this file, one JSON object a line; - reads stdin.",
            valueName: "file"
        )
    )
    var batch: String?
    @OptionGroup var surroundings: ProgramFlags
    @OptionGroup var how: EnqueueFlags
    @Flag(help: ArgumentHelp("Wait for the end (--wait=10s: at most this long); the exit status shows the outcome."))
    var wait = false
    @Option(help: .hidden, transform: DurationText.parse)
    var waitTimeout: Duration?
    @Flag(help: "Wait for the end, and print the log meanwhile.")
    var follow = false
    @Flag(help: "Refuse (exit 5) if the queue was never used and no worker serves it.")
    var strict = false
    @Flag(
        help:
            "Check everything, also arguments of built-in operations and whether a worker handles the name, but enqueue nothing."
    )
    var dryRun = false
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func check() throws {
        let name = Program.name
        guard batch == nil || (words.isEmpty && program.isEmpty && args == nil) else {
            throw CLIError.usage("--batch reads all operations from the file", fix: "\(name) enqueue --batch FILE")
        }
        guard surroundings.lines == nil || (batch == nil && words.isEmpty && program.isEmpty && args == nil) else {
            throw CLIError.usage("--lines reads all commands from the file", fix: "\(name) enqueue --lines FILE")
        }
        guard hasFile || !words.isEmpty || !program.isEmpty else {
            throw CLIError.usage("nothing to enqueue", fix: "\(name) enqueue NAME k=v, or \(name) enqueue -- PROGRAM")
        }
        guard !follow || !hasFile else { throw CLIError.usage("--follow shows one log", fix: "use --wait") }
        guard !hasFile || how.id == nil else {
            throw CLIError.usage("--id names one operation", fix: "use --batch with an \"id\" in each line")
        }
        try how.headers.check()
        if hasFile, let callback = settings.callbacks.first {
            throw CLIError.usage(
                "\(callback.option) does not apply to --batch and --lines, which enqueue several operations",
                fix: "enqueue it without --batch and --lines"
            )
        }
        try surroundings.check(hasProgram: isProgram && args == nil)
        try settings.check()
    }

    /// The settings for one operation, or for the lines of a file.
    var settings: EnqueueSettings {
        var settings = how.settings
        settings.isAwaited = wait || follow
        return settings
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        try invocation.beginChange(asking: nil)
        if let file = batch ?? surroundings.lines {
            return try await BatchEnqueue(verb: self, invocation: invocation).run(file)
        }
        var request = try singleRequest()
        try request.check(sealedBy: invocation.seal)
        let losesInput = isProgram && surroundings.input == nil
        let hasWarned = losesInput && UnreadInput.warn(invocation.console)
        guard !dryRun else { return try await dry(request, invocation) }
        let client = try await invocation.connect()
        var requests = [request]
        try await GroupLookup(client: client).complete(&requests)
        if strict { try await QueueCheck(client).requireUsed(requests[0].queue) }
        try await DependencyLookup(client: client).complete(&requests)
        request = requests[0]
        let new = try request.resolved(serverTime: try await request.serverTime(client))
        let reference = try await client.enqueue([new], queue: request.queue, durability: how.durability)[0]
        invocation.console.account("\(reference.id) is enqueued in queue \(request.queue)")
        // The writer of the pipe may be slower than this command, so stdin is checked again.
        if losesInput, !hasWarned { _ = UnreadInput.warn(invocation.console) }
        return try await SingleEnqueue(verb: self, invocation: invocation, client: client).finish(reference, request)
    }

    /// Whether operations come from a file.
    private var hasFile: Bool { batch != nil || surroundings.lines != nil }

    /// Whether the request is a single operation that runs a program.
    private var isProgram: Bool { !program.isEmpty || words.first == "exec" }

    private func singleRequest() throws -> EnqueueInput {
        try settings.request(name: try operationName(), arguments: try arguments().serializedBytes())
    }

    private func operationName() throws(CLIError) -> String {
        guard !program.isEmpty else { return try Self.name(words[0]) }
        guard words.isEmpty || words[0] == "exec" || words[0].contains("=") else {
            throw .usage(
                "both the operation \"\(words[0])\" and a program after -- are given",
                fix: "\(Program.name) enqueue [options] -- PROGRAM ARG.."
            )
        }
        return "exec"
    }

    /// Checks the name. A whole command in one word is probably meant as a program.
    private static func name(_ word: String) throws(CLIError) -> String {
        guard !NameRule.allows(word), word.contains(where: { $0 == " " || $0 == "/" }) else { return word }
        let isForShell = word.contains { "|&;<>()$`\\\"'*?~#{}[]".contains($0) }
        let command = "-- " + (isForShell ? "sh -c \(ShellWords.quoted(word))" : word)
        throw .usage(
            "\(OperationsError.quoted(word)) is a command, not an operation name; did you mean \"\(command)\"?",
            fix: "\(Program.name) enqueue \(command)"
        )
    }

    private func arguments() throws(CLIError) -> JSONValue {
        let pairs = words.filter { program.isEmpty || $0 != "exec" }.dropFirst(program.isEmpty ? 1 : 0)
        if let args {
            guard pairs.isEmpty, program.isEmpty else {
                throw .usage("--args and k=v arguments exclude each other", fix: "drop --args, or the other arguments")
            }
            return try Self.json(args)
        }
        let object = try KeyValueArguments.object(from: Array(pairs))
        guard isProgram, var members = object.objectValue else { return object }
        if !program.isEmpty { members["argv"] = .array(program.map { .string($0) }) }
        return .object(try surroundings.added(to: members))
    }

    static func json(_ text: String) throws(CLIError) -> JSONValue {
        let bytes = text == "-" ? try InputFile.read("-") : Array(text.utf8)
        do { return try JSONValue(parsing: bytes.withoutByteOrderMark) } catch {
            throw .usage(
                "--args is not JSON: \(error)",
                fix: #"--args '{"seconds":3}', or --args - and the JSON on stdin"#
            )
        }
    }

    private func dry(_ request: EnqueueInput, _ invocation: Invocation) async throws -> ExitStatus {
        try await DryEnqueue(invocation).check(request)
        invocation.console.note(
            "would enqueue \(request.name) into \(request.queue); nothing was sent (--dry-run)"
        )
        return .done
    }
}
