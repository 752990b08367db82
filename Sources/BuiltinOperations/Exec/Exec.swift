import Foundation
import Operations

extension OperationHandler {
    /// Runs a program: `argv` (no shell), and optionally `env`, `cwd`, `stdin`. Its output becomes the operation's log, its exit
    /// code the result, or the error if it is not zero. A cancel sends SIGTERM to its process group, and SIGKILL after the grace.
    ///
    /// - Parameters:
    ///   - guardPath: an executable whose `main` calls `ExecGuard.runIfAsked`.
    ///   - grace: the time between SIGTERM and SIGKILL.
    static func exec(guardPath: String, grace: Duration) -> OperationHandler {
        OperationHandler(name: "exec", runTimeout: Defaults.externalRunTimeout) { json, context in
            let arguments = try ExecArguments(json)
            let process = try GuardedProcess(
                try arguments.request(for: context),
                input: arguments.input,
                guardPath: guardPath,
                onLine: { context.log($0) }
            )
            return try ExecFailure.check(try await process.run(grace: grace), program: arguments.program)
        }
    }
}

/// The arguments of `exec`.
struct ExecArguments {
    let program: String
    private let argv: [String]
    private let environment: [String: String]
    private let directory: String
    let input: [UInt8]?

    init(_ json: [UInt8]) throws {
        let arguments = try Arguments(json, of: "exec")
        try arguments.allow(only: "argv", "env", "cwd", "stdin")
        argv = try arguments.required("argv", arguments.optionalStrings("argv"))
        environment = try arguments.optionalStringMap("env") ?? [:]
        directory = try arguments.optionalString("cwd") ?? ""
        input = try arguments.optionalString("stdin").map { Array($0.utf8) }
        guard let first = argv.first, !first.isEmpty else {
            throw InvalidArguments("exec", "\"argv\" must begin with a program")
        }
        program = first
        for text in argv + [directory] + environment.keys + environment.values where text.utf8.contains(0) {
            throw InvalidArguments("exec", "a NUL byte is not possible in \(OperationsError.quoted(text))")
        }
        for key in environment.keys where key.isEmpty || key.contains("=") {
            throw InvalidArguments("exec", "\(OperationsError.quoted(key)) is no name of an environment variable")
        }
    }

    /// What the guard is asked to run.
    func request(for context: OperationContext) throws -> GuardRequest {
        try GuardRequest(argv, for: context, environment: environment, directory: directory)
    }
}

extension GuardRequest {
    /// A program for an operation. The worker's own environment may hold secrets: of it, the program sees only what every program needs.
    init(
        _ arguments: [String],
        for context: OperationContext,
        environment: [String: String] = [:],
        directory: String = ""
    ) throws {
        var variables = Self.inherited(ProcessInfo.processInfo.environment)
        variables.merge(environment) { $1 }
        variables["SLUICE_OPERATION_ID"] = context.id.description
        variables["SLUICE_OPERATION_NAME"] = context.name
        variables["SLUICE_ATTEMPT"] = "\(context.attempt)"
        variables["SLUICE_DELIVERY"] = "\(context.delivery)"
        variables["SLUICE_FENCE"] = "\(try context.fence)"
        variables["SLUICE_QUEUE"] = context.queue
        // A NUL ends a string on its way to the guard: what follows would be another variable.
        for (key, value) in variables where key.utf8.contains(0) || value.utf8.contains(0) {
            let name = OperationsError.quoted(key)
            throw InvalidArguments(context.name, "a NUL byte is not possible in the variable \(name)")
        }
        self.init(
            arguments: arguments,
            environment: variables.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" },
            directory: directory
        )
    }

    /// The part of an environment that programs get.
    static func inherited(_ environment: [String: String]) -> [String: String] {
        let allowed: Set = ["PATH", "HOME", "LANG", "TZ", "TMPDIR", "USER"]
        return environment.filter { allowed.contains($0.key) || $0.key.hasPrefix("LC_") }
    }
}

/// Why a program did not do its work.
struct ExecFailure: OperationFailing, CustomStringConvertible {
    let failureType: String
    let description: String
    let failureDetails: [String: Int]?

    /// Something that running a program needs could not be had.
    init(starting what: String, _ code: Int32) {
        failureType = "exec"
        description = "cannot start \(what): \(String(cString: strerror(code)))"
        failureDetails = ["errno": Int(code)]
    }

    private init(type: String, _ description: String, _ details: [String: Int]? = nil) {
        failureType = type
        self.description = description
        failureDetails = details
    }

    /// The result of a program that ended well; throws for others.
    static func check(_ end: GuardedProcess.End, program: String) throws -> [UInt8] {
        switch end {
        case .exited(code: 0): return Array(#"{"exitCode":0}"#.utf8)
        case .exited(let code):
            throw ExecFailure(type: "exit", "\(program) ended with exit code \(code)", ["exitCode": Int(code)])
        case .killed(let signal):
            throw ExecFailure(type: "exit", "\(program) was ended by signal \(signal)", ["signal": Int(signal)])
        case .refused(let code): throw ExecFailure(starting: program, code)
        case .guardLost: throw ExecFailure(type: "exec", "the guard of \(program) was killed, and the program with it")
        }
    }
}
