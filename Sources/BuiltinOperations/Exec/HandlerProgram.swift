import Operations

extension OperationHandler {
    /// Runs an external program for a name, as `exec` runs programs.
    ///
    /// The arguments are JSON on stdin, the result is JSON on stdout, and stderr is the log. Lines on descriptor 3 are
    /// `ProgramReport`s.
    ///
    /// - Parameters:
    ///   - name: the operation's name.
    ///   - path: the absolute path of the program.
    ///   - guardPath: an executable whose `main` calls `ExecGuard.runIfAsked`.
    ///   - grace: the time between SIGTERM and SIGKILL.
    ///   - environment: the variables of this process that the program gets.
    static func program(
        _ name: String,
        path: String,
        guardPath: String,
        grace: Duration,
        environment: ProgramEnvironment
    ) -> OperationHandler {
        OperationHandler(
            name: name,
            runTimeout: SluiceDefaults.externalRunTimeout,
            decide: { error, _ in (error as? ProgramFailure)?.isDiscarded == true ? .discard : nil }
        ) { json, context in
            try await ProgramRun(path: path, context: context, environment: environment).run(
                json,
                guardPath: guardPath,
                grace: grace
            )
        }
    }
}

/// A run of a program.
private struct ProgramRun {
    let path: String
    let context: OperationContext
    let environment: ProgramEnvironment

    func run(_ arguments: [UInt8], guardPath: String, grace: Duration) async throws -> [UInt8] {
        let channel = ReportChannel(context)
        let last = LastLine()
        let request = try await request()
        let process = try GuardedProcess(
            request,
            input: arguments,
            guardPath: guardPath,
            onLine: {
                context.log($0)
                last.note($0)
            },
            onEvent: { channel.take($0) }
        )
        context.whenForced { process.kill() }
        let end = try await process.run(grace: grace)
        channel.close()
        if end.isTemporary {
            throw Snooze(for: channel.snooze ?? SluiceDefaults.programSnooze, channel.error?.message ?? "")
        }
        guard let output = process.result else { throw ProgramFailure(tooMuchFrom: path) }
        do { _ = try ExecFailure.check(end, of: request, last: last.line) } catch let failure as ExecFailure {
            throw channel.error.map { ProgramFailure($0, exit: failure) } ?? failure
        }
        if process.isCut { throw ProgramFailure(cutFrom: path) }
        return try result(output)
    }

    /// Returns the request, with the last checkpoint in the environment.
    private func request() async throws -> GuardRequest {
        // Other users may write to the checkpoint in Redis, so parse it and write it again as JSON.
        let stored = try await context.lastCheckpointJSON().flatMap {
            $0.count <= SluiceDefaults.checkpointBytes ? $0 : nil
        }
        let checkpoint = stored.flatMap { try? JSONValue(parsing: $0).serialized() }
        let variables = checkpoint.map { ["SLUICE_CHECKPOINT": $0] } ?? [:]
        return try GuardRequest([path], for: context, environment, more: variables)
    }

    private func result(_ output: [UInt8]) throws -> [UInt8] {
        guard output.contains(where: { !Self.blank.contains($0) }) else { return [] }
        do { return try JSONValue(parsing: output).serializedBytes() } catch {
            throw ProgramFailure(noJSONFrom: path, output, "\(error)")
        }
    }

    private static let blank = Set(" \t\r\n".utf8)
}

/// The failure of a handler program.
struct ProgramFailure: OperationFailing, RetryTiming, CustomStringConvertible {
    let failureType: String
    let description: String
    var isRetryable = false
    var isDiscarded = false
    var retryAfter: Duration?
    var failureDetails: [String: Int]?

    /// Makes the failure for output that is not JSON. Not retryable, because another attempt would probably write the
    /// same output.
    init(noJSONFrom path: String, _ output: [UInt8], _ problem: String) {
        failureType = "result"
        let start = OperationsError.quoted(String(decoding: output.cutText(toBytes: 200), as: UTF8.self))
        description =
            "the output of \(path) is not JSON: \(problem), in \(start); write only the result to stdout, and everything else to stderr"
    }

    init(tooMuchFrom path: String) {
        failureType = "result"
        description =
            "\(path) wrote more than \(SluiceDefaults.resultBytes) bytes to stdout and was killed: "
            + "store the result elsewhere and print its address"
    }

    /// Makes the failure for output that may be incomplete.
    init(cutFrom path: String) {
        failureType = "result"
        description = "the output of \(path) could not be read to its end"
        isRetryable = true
    }

    /// Makes the failure from the error that the program reported.
    init(_ error: ProgramReport.Failure, exit: ExecFailure) {
        failureType = error.type ?? exit.failureType
        description = error.message
        isRetryable = error.decision != .dead
        isDiscarded = error.decision == .discard
        retryAfter = error.pause
        failureDetails = exit.failureDetails
    }
}
