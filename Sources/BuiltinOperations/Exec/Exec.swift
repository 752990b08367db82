import Foundation
import Operations
import Synchronization

extension OperationHandler {
    /// Runs a program: `argv` (no shell), and optionally `env`, `cwd`, `stdin`.
    ///
    /// The program's output becomes the operation's log. Exit code 0 is the result, 75 (EX_TEMPFAIL) snoozes, and any
    /// other is the error. A cancel sends SIGTERM to the process group, and SIGKILL after the grace; a forced cancel
    /// sends SIGKILL at once.
    ///
    /// - Parameters:
    ///   - guardPath: an executable whose `main` calls `ExecGuard.runIfAsked`.
    ///   - grace: the time between SIGTERM and SIGKILL.
    ///   - environment: the variables of this process that programs get.
    static func exec(guardPath: String, grace: Duration, environment: ProgramEnvironment) -> OperationHandler {
        OperationHandler(name: "exec", runTimeout: SluiceDefaults.externalRunTimeout) { json, context in
            let arguments = try ExecArguments(json)
            let request = try arguments.request(for: context, environment)
            let last = LastLine()
            let process = try GuardedProcess(
                request,
                input: arguments.input,
                guardPath: guardPath,
                onLine: { line in
                    context.log(line)
                    last.note(line)
                }
            )
            context.whenForced { process.kill() }
            let end = try await process.run(grace: grace)
            if end.isTemporary { throw Snooze(for: arguments.snooze, last.line.map(URLPasswords.masked) ?? "") }
            return try ExecFailure.check(end, of: request, last: last.line)
        }
    }
}

/// The arguments of `exec`.
struct ExecArguments {
    private let argv: [String]
    private let environment: [String: String]
    private let directory: String
    let input: [UInt8]?
    /// How long exit code 75 snoozes.
    let snooze: Duration

    init(_ json: [UInt8]) throws {
        let arguments = try Arguments(json, of: "exec")
        try arguments.allowDocumented()
        argv = try arguments.required("argv", arguments.optionalStrings("argv"))
        environment = try arguments.optionalStringMap("env") ?? [:]
        directory = try arguments.optionalString("cwd") ?? ""
        input = try arguments.optionalString("stdin").map { Array($0.utf8) }
        snooze = try arguments.optionalSeconds("snooze", atMost: RetryAfter.longest) ?? SluiceDefaults.programSnooze
        guard argv.first?.isEmpty == false else {
            throw InvalidArguments("exec", "\"argv\" must begin with a program")
        }
        for text in argv + [directory] + environment.keys + environment.values where text.utf8.contains(0) {
            throw InvalidArguments("exec", "\(OperationsError.quoted(text)) must not contain a NUL byte")
        }
        for key in environment.keys where key.isEmpty || key.contains("=") {
            throw InvalidArguments("exec", "\(OperationsError.quoted(key)) is not a name of an environment variable")
        }
    }

    /// The request to the guard.
    func request(for context: OperationContext, _ inherited: ProgramEnvironment) throws -> GuardRequest {
        try GuardRequest(argv, for: context, inherited, more: environment, directory: directory)
    }
}

extension GuardRequest {
    /// Makes the request to run a program for an operation.
    ///
    /// - Parameters:
    ///   - arguments: the program and its arguments.
    ///   - context: the operation's context, whose id, name, attempt, headers and so on become variables.
    ///   - inherited: the variables of this process that the program gets.
    ///   - environment: further variables, which replace those.
    ///   - directory: the folder to run in; empty = this process's folder.
    init(
        _ arguments: [String],
        for context: OperationContext,
        _ inherited: ProgramEnvironment,
        more environment: [String: String] = [:],
        directory: String = ""
    ) throws {
        var variables = inherited.selected(from: ProcessInfo.processInfo.environment)
        variables.merge(environment) { $1 }
        variables["SLUICE_OPERATION_ID"] = context.id.description
        variables["SLUICE_OPERATION_NAME"] = context.name
        variables["SLUICE_ATTEMPT"] = "\(context.attempt)"
        variables["SLUICE_DELIVERY"] = "\(context.delivery)"
        variables["SLUICE_FENCE"] = "\(try context.fence)"
        variables["SLUICE_QUEUE"] = context.queue
        variables["SLUICE_HEADERS"] = OperationEnvelope.object(of: context.headers).serialized()
        variables.merge(TraceContext.variables(from: context.headers)) { $1 }
        // A NUL ends a string in the request to the guard, so the rest would become another variable.
        for (key, value) in variables where key.utf8.contains(0) || value.utf8.contains(0) {
            let name = OperationsError.quoted(key)
            throw InvalidArguments(context.name, "the variable \(name) must not contain a NUL byte")
        }
        self.init(
            arguments: arguments,
            environment: variables.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" },
            directory: directory
        )
    }
}

extension GuardedProcess.End {
    /// Whether the program asks to run again later: EX_TEMPFAIL of sysexits.h.
    var isTemporary: Bool { if case .exited(code: 75) = self { true } else { false } }
}

/// The failure of a program.
struct ExecFailure: OperationFailing, CustomStringConvertible {
    let failureType: String
    let description: String
    let failureDetails: [String: Int]?

    /// Makes the failure for a resource that is missing to run a program.
    init(starting what: String, _ code: Int32) {
        self.init(notStarted: "\(what): \(String(cString: strerror(code)))", code)
    }

    init(notStarted what: String, _ code: Int32) {
        self.init(type: "exec", "cannot start \(what)", ["errno": Int(code)])
    }

    private init(type: String, _ description: String, _ details: [String: Int]? = nil) {
        failureType = type
        self.description = description
        failureDetails = details
    }

    /// The most bytes of a line that an error quotes.
    private static let quotedBytes = 500

    /// Returns the result of a successful program; throws for any other end.
    ///
    /// - Parameter last: the last line of the program, which usually has the reason.
    static func check(_ end: GuardedProcess.End, of request: GuardRequest, last: String? = nil) throws -> [UInt8] {
        let program = request.arguments[0]
        let words = last.map { ": " + URLPasswords.masked($0).cut(toBytes: quotedBytes) } ?? ""
        switch end {
        case .exited(code: 0): return Array(#"{"exitCode":0}"#.utf8)
        case .exited(let code):
            throw ExecFailure(type: "exit", "\(program) ended with exit code \(code)\(words)", ["exitCode": Int(code)])
        case .killed(let signal):
            throw ExecFailure(type: "exit", "\(program) was ended by signal \(signal)\(words)", ["signal": Int(signal)])
        case .refused(let step, let code): throw ExecFailure(starting: request, step, code)
        case .guardLost:
            throw ExecFailure(type: "exec", "the process that guards \(program) was killed, and the program with it")
        }
    }
}

/// Stores the last line of a program that is not blank.
final class LastLine: Sendable {
    private let kept = Mutex<String?>(nil)

    var line: String? { kept.withLock { $0 } }

    func note(_ line: String) {
        guard line.contains(where: { !$0.isWhitespace }) else { return }
        kept.withLock { $0 = line }
    }
}
