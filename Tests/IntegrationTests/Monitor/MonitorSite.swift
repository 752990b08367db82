import TestSupport

/// A namespace, with methods to start commands, workers and the monitor.
struct MonitorSite {
    let redis: TestRedis
    let environment: [String: String]

    init(_ redis: TestRedis = .shared) {
        self.redis = redis
        environment = [
            "SLUICE_REDIS_URL": redis.url, "SLUICE_NAMESPACE": uniqueNamespace("monitor"),
        ]
    }

    func run(_ arguments: String...) async throws -> Program.Outcome {
        try await Program.run("sluice", arguments, environment: environment)
    }

    func worker(slots: Int = 2, name: String = "tester", options: String...) throws -> Program {
        let arguments = ["worker", "-c", "\(slots)", "--name", name] + options
        return try Program("sluice", arguments, environment: environment)
    }

    /// - Parameter role: the role of the user; only an operator can cancel.
    func monitor(
        _ arguments: String...,
        width: Int = 80,
        height: Int = 24,
        as role: TestUsers.Role = .monitor,
        terminal: String = "xterm-256color"
    ) throws -> TerminalProgram {
        try TerminalProgram(
            "sluice",
            ["monitor"] + arguments,
            width: width,
            height: height,
            environment: environment.merging(["SLUICE_REDIS_URL": redis.url(as: role), "TERM": terminal]) { $1 }
        )
    }
}

extension MonitorSite {
    /// Starts the monitor from a shell in tmux.
    ///
    /// - Parameter role: the role of the user; only an operator can cancel.
    func tmux(
        _ arguments: String...,
        width: Int = 80,
        height: Int = 24,
        as role: TestUsers.Role = .operator
    ) async throws -> Tmux {
        let all = environment.merging(["SLUICE_REDIS_URL": redis.url(as: role)]) { $1 }
        let tmux = try await Tmux(width: width, height: height, environment: all)
        try await tmux.start("sluice", ["monitor"] + arguments)
        return tmux
    }

    /// Enqueues an operation.
    ///
    /// - Returns: its id.
    @discardableResult
    func enqueue(_ arguments: String...) async throws -> String { try await enqueue(arguments) }

    @discardableResult
    func enqueue(_ arguments: [String]) async throws -> String {
        let outcome = try await Program.run("sluice", ["enqueue", "-o", "id"] + arguments, environment: environment)
        guard outcome.code == 0 else { throw TerminalFailure(description: outcome.errors) }
        return outcome.output.split(separator: "\n").last.map(String.init) ?? ""
    }

    /// Enqueues operations of one name in one call.
    func enqueueMany(_ count: Int, name: String, queue: String) async throws {
        let lines = String(repeating: #"{"name":"\#(name)"}"# + "\n", count: count)
        let arguments = ["enqueue", "--batch", "-", "-q", queue, "--quiet"]
        let outcome = try await Program.run("sluice", arguments, environment: environment, input: lines)
        guard outcome.code == 0 else { throw TerminalFailure(description: outcome.errors) }
    }
}
