import Foundation
import Operations
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("signals of a worker")
    struct WorkerSignalTests {
        private let sluice = CommandLine()

        @Test(
            "Other signals that would end a process drain the worker like SIGTERM",
            arguments: [SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2]
        )
        func drains(_ number: Int32) async throws {
            let worker = try await sluice.worker("-c", "1", "--lease", "60s", "--drain-timeout", "10m")
            let running = try await sluice.enqueue("sleep", "seconds:=2")
            try await sluice.begins(running)
            worker.send(number)
            let outcome = await worker.outcome()
            #expect(outcome.code == 0, "\(outcome.errors)")
            try await expectOneRun(running)
        }

        @Test("Repeated SIGHUP of a closing terminal does not shorten the drain; SIGTERM still does")
        func hangups() async throws {
            let worker = try await sluice.worker("-c", "2", "--drain-timeout", "10m")
            let short = try await sluice.enqueue("sleep", "seconds:=2")
            let long = try await sluice.enqueue("sleep", "seconds:=600")
            for id in [short, long] { try await sluice.begins(id) }
            worker.send(SIGHUP)
            try await eventually("it drains") { worker.errors.contains("draining, up to 10m") }
            for _ in 0..<3 { worker.send(SIGHUP) }
            try await sluice.reaches("finished", short)
            #expect(!worker.hasEnded)
            let second = ContinuousClock.now
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 143)
            try await sluice.broker.recoverRest(of: worker, since: second)
            try await sluice.reaches("ready", long)
            let record = try await sluice.json("show", long)
            #expect(record["attempt"]?.intValue == 0, "\(record)")
        }

        @Test("Under nohup, a worker and the processes of a supervisor ignore SIGHUP", arguments: [1, 2])
        func nohup(processes: Int) async throws {
            let program = Program.directory.appendingPathComponent("sluice").path
            let arguments = ["worker", "-v"] + (processes == 1 ? [] : ["--processes", "\(processes)"])
            let worker = try Program(
                "/usr/bin/nohup",
                [program] + arguments,
                environment: sluice.environment(for: arguments)
            )
            var pids: Set<Int32> = []
            try await eventually("the workers are known") {
                pids = Set(
                    try await sluice.snapshots().flatMap(\.workers).compactMap { WorkerInfo($0.info)?.pid }.map(
                        Int32.init
                    )
                )
                return pids.count == processes
            }
            for pid in pids.union([worker.identifier]) { #expect(kill(pid, SIGHUP) == 0) }
            let id = try await sluice.enqueue("noop")
            try await sluice.reaches("finished", id)
            #expect(!worker.errors.contains("draining"))
            worker.send(SIGTERM)
            let outcome = await worker.outcome()
            #expect(outcome.code == 0, "\(outcome.errors)")
        }

        @Test(
            "A supervisor passes signals of its terminal on: all of its processes drain",
            arguments: [SIGHUP, SIGQUIT]
        )
        func supervisor(_ number: Int32) async throws {
            let lasting = ["--lease", "60s", "--drain-timeout", "10m"]
            let supervisor = try sluice.start(["worker", "-v", "--processes", "2", "-c", "1"] + lasting)
            let ids = try await [sluice.enqueue("sleep", "seconds:=2"), sluice.enqueue("sleep", "seconds:=2")]
            for id in ids { try await sluice.begins(id) }
            supervisor.send(number)
            let outcome = await supervisor.outcome()
            #expect(outcome.code == 0, "\(outcome.errors)")
            for id in ids { try await expectOneRun(id) }
        }

        @Test("Programs do not inherit ignored signals from their worker", arguments: ["HUP", "QUIT", "USR1", "USR2"])
        func programs(_ name: String) async throws {
            let worker = try await sluice.worker("--allow", "exec")
            let command = ["enqueue", "--attempts", "1", "--wait", "--", "sh", "-c", "kill -\(name) $$; echo survived"]
            let outcome = await (try sluice.start(command)).outcome()
            #expect(outcome.code == 1, "\(outcome.output) \(outcome.errors)")
            #expect(outcome.errors.contains("signal"), "\(outcome.errors)")
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        private func expectOneRun(_ id: String) async throws {
            let record = try await sluice.json("show", id)
            #expect(record["state"]?.stringValue == "finished")
            #expect(record["attempt"]?.intValue == 1)
            #expect(record["delivery"]?.intValue == 1)
        }
    }

    @Suite("as process 1 of a container", .enabled(if: FirstProcess.isPermitted, "unshare --pid is not permitted here"))
    struct FirstProcessTests {
        private let sluice = CommandLine()

        @Test(
            "A long-running verb ends at once on a signal",
            arguments: [
                // SIGTERM is the regular end of a verb that runs until it is stopped.
                (["stat"], 0), (["events"], 0), (["worker", "-q", "other"], 0),
                // A verb that waits for something else is cut short.
                (["stat", "-n", "1000"], 143), (["wait", "ID"], 143), (["wait", "ID", "--for", "started"], 143),
                (["logs", "ID", "-f"], 143), (["monitor", "--until-idle"], 143), (["enqueue", "noop", "--wait"], 143),
            ] as [([String], Int32)]
        )
        func ends(words: [String], status: Int32) async throws {
            try await expectEnd(of: "sluice", words, status: status)
        }

        @Test("The measurements end at once on a signal")
        func bench() async throws { try await expectEnd(of: "sluice-bench", ["--only", "idle"], status: 143) }

        /// Expects that a program ends promptly on SIGTERM, with `status`, and on SIGINT.
        private func expectEnd(of program: String, _ words: [String], status: Int32) async throws {
            // No worker serves this queue, so the operation never ends.
            let id = try await sluice.enqueue("noop")
            let arguments = words.map { $0 == "ID" ? id : $0 }
            for (number, code) in [(SIGTERM, status), (SIGINT, words[0] == "worker" ? 0 : 130)] {
                let first = try FirstProcess(program, arguments, environment: sluice.environment(for: arguments))
                try await first.handles(number)
                // Before a verb begins its work, a signal ends it with the status of that signal.
                if status == 0 {
                    try await eventually("\(arguments) works") {
                        if words == ["events"] { _ = try await sluice.enqueue("noop") }
                        return !(first.program.output + first.program.errors).isEmpty
                    }
                }
                let start = ContinuousClock.now
                first.send(number)
                let outcome = await first.program.outcome()
                #expect(outcome.code == code, "\(arguments), signal \(number): \(outcome.errors)")
                expectPrompt("the end of \(program) \(words[0])", since: start, promised: .seconds(1))
            }
        }
    }
}

/// A program as the first process of a process namespace. The kernel drops every signal that this process does not
/// handle.
private struct FirstProcess {
    let program: Program

    private static let command = ["--pid", "--fork", "--kill-child"]

    static let isPermitted = (try? ChildProcess.start("unshare", command + ["true"]).finish()) == 0

    init(_ name: String, _ arguments: [String], environment: [String: String]) throws {
        let path = Program.directory.appendingPathComponent(name).path
        program = try Program("/usr/bin/unshare", Self.command + [path] + arguments, environment: environment)
    }

    private var pid: Int32? {
        let path = "/proc/\(program.identifier)/task/\(program.identifier)/children"
        return (try? String(contentsOfFile: path, encoding: .utf8)).flatMap {
            Int32($0.split(separator: " ").first ?? "")
        }
    }

    /// Waits until the process handles or ignores the signal.
    func handles(_ number: Int32) async throws {
        try await eventually("a handler for signal \(number)") {
            guard let pid, let status = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8) else {
                return false
            }
            // A Dispatch source requires that the signal is ignored.
            return status.split(separator: "\n").contains { line in
                guard line.hasPrefix("SigCgt:") || line.hasPrefix("SigIgn:"),
                    let mask = UInt64(line.dropFirst(7).trimmingCharacters(in: .whitespaces), radix: 16)
                else { return false }
                return mask >> UInt64(number - 1) & 1 == 1
            }
        }
    }

    func send(_ number: Int32) { if let pid { kill(pid, number) } }
}
