import Foundation
import Glibc
import Operations
import TestSupport
import Testing

@testable import BuiltinOperations
@testable import BrokerModel
@testable import WorkerRuntime

/// The guard fixture is in the folder of the test executable.
private var fixture: URL {
    URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().appending(
        path: "guard-fixture"
    )
}

private func isAlive(_ pid: pid_t) -> Bool {
    guard let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8) else { return false }
    return !stat.contains(") Z ")
}

@Suite("exec", .timeLimit(.minutes(60)))
struct ExecTests {
    private func harness(grace: Duration = .milliseconds(300)) -> Harness<InMemoryBroker> {
        Harness(
            handlers: BuiltinOperations.handlers(allowed: ["exec"], guardPath: fixture.path, cancelGrace: grace)
                .filter { $0.name == "exec" }
        )
    }

    private func json(_ argv: String..., more: String = "") -> String {
        let list = argv.map { "\"" + $0.replacingOccurrences(of: "\"", with: "\\\"") + "\"" }.joined(separator: ",")
        return "{\"argv\":[\(list)]\(more)}"
    }

    private func lines(_ harness: Harness<InMemoryBroker>, _ id: OperationID) async throws -> [String] {
        try await harness.broker.log(id, queue: "default", from: 0, limit: 1000).lines
            .map { String(decoding: $0.text, as: UTF8.self) }
    }

    private func error(_ harness: Harness<InMemoryBroker>, _ id: OperationID) async throws -> OperationFailure? {
        let bytes = try await harness.detail(id)?.errors.last?.error ?? []
        return try? JSONDecoder().decode(OperationFailure.self, from: Data(bytes))
    }

    @Test("exec stores a program's output as log and its exit code as result, without a shell")
    func output() async throws {
        let harness = harness()
        harness.start()
        let id = try await harness.broker.put("exec", json("printf", "%s\\\\n", "a b", "$HOME;*"))
        #expect(try await harness.reaches(.finished, id))
        #expect(try await lines(harness, id) == ["a b", "$HOME;*"])
        #expect(try await harness.detail(id)?.result == Array(#"{"exitCode":0}"#.utf8))
        try await harness.stop()
    }

    @Test("Exit code 75 runs the program again after the seconds of \"snooze\", in the same attempt")
    func snoozes() async throws {
        let harness = harness()
        harness.start()
        let folder = try TemporaryDirectory()
        let script = "echo $SLUICE_ATTEMPT; [ -e once ] && exit 0; touch once; echo busy; exit 75"
        let arguments = #"{"argv":["sh","-c","\#(script)"],"cwd":"\#(folder.path(""))","snooze":0.01}"#
        let id = try await harness.broker.put("exec", arguments, retry: .never)
        #expect(try await harness.reaches(.finished, id))
        #expect(try await lines(harness, id) == ["1", "busy", "1"])
        let detail = try await harness.detail(id)
        #expect(detail?.errors == [] && detail?.snooze?.count == 1 && detail?.snooze?.reason == "busy")
        let wrong = try await harness.broker.put("exec", #"{"argv":["true"],"snooze":-1}"#, retry: .never)
        #expect(try await harness.reaches(.dead, wrong))
        #expect(try await error(harness, wrong)?.message.contains("a number of seconds up to 86400") == true)
        try await harness.stop()
    }

    @Test("The error of a failed program contains its last line, without passwords and cut to a limit")
    func lastWords() async throws {
        let harness = harness()
        harness.start()
        func message(_ script: String) async throws -> String? {
            let id = try await harness.broker.put("exec", json("sh", "-c", script))
            #expect(try await harness.reaches(.retrying, id))
            return try await error(harness, id)?.message
        }
        let said = try await message("echo begin; echo 'no such table: users' >&2; echo; exit 3")
        #expect(said == "sh ended with exit code 3: no such table: users")
        #expect(try await message("exit 4") == "sh ended with exit code 4")
        #expect(try await message("echo bad; kill -9 $$") == "sh was ended by signal 9: bad")
        let address = try await message("echo 'cannot reach redis://app:pw@db/1' >&2; exit 1")
        #expect(address == "sh ended with exit code 1: cannot reach redis://app:***@db/1")
        let long = try #require(try await message("printf '%0900d' 0 >&2; exit 1"))
        #expect(long.hasSuffix("000…") && long.utf8.count < 540)
        try await harness.stop()
    }

    @Test("A line that is too long is cut between characters, and each piece except the last is marked")
    func longLine() async throws {
        let harness = harness()
        harness.start()
        let text = String(repeating: "日本語の行", count: 340)
        for before in ["", "x", "xy"] {
            let id = try await harness.broker.put("exec", json("printf", "%s\\n", before + text))
            #expect(try await harness.reaches(.finished, id))
            let pieces = try await lines(harness, id)
            #expect(pieces.count == 2)
            #expect(pieces.allSatisfy { $0.utf8.count <= SluiceDefaults.logLineBytes && !$0.contains("\u{FFFD}") })
            #expect(pieces[0].utf8.count > SluiceDefaults.logLineBytes - 3)
            #expect(pieces[0].hasSuffix("…") && pieces[0].dropLast() + pieces[1] == before + text)
        }
        try await harness.stop()
    }

    @Test("The output of many programs that begin and end at once is complete")
    func many() async throws {
        let harness = harness()
        harness.start()
        var ids: [OperationID] = []
        for _ in 0..<60 { ids.append(try await harness.broker.put("exec", json("seq", "200"))) }
        for id in ids {
            #expect(try await harness.reaches(.finished, id))
            #expect(try await lines(harness, id) == (1...200).map(String.init))
        }
        try await harness.stop()
    }

    @Test("The error has the exit code, the signal or the reason why nothing started")
    func failures() async throws {
        let harness = harness()
        harness.start()
        let code = try await harness.broker.put("exec", json("sh", "-c", "echo hi; exit 3"), retry: .never)
        let signal = try await harness.broker.put("exec", json("sh", "-c", "kill -9 $$"), retry: .never)
        let missing = try await harness.broker.put("exec", json("no-such-program"), retry: .never)
        for id in [code, signal, missing] { #expect(try await harness.reaches(.dead, id)) }
        #expect(try await error(harness, code)?.details == ["exitCode": 3])
        #expect(try await lines(harness, code) == ["hi"])
        #expect(try await error(harness, signal)?.details == ["signal": 9])
        let message = try #require(try await error(harness, missing)?.message)
        #expect(message.hasPrefix("cannot start no-such-program: No such file or directory"), "\(message)")
        try await harness.stop()
    }

    @Test(
        "A program gets its environment, folder and input, and only the standard variables of the worker"
    )
    func surroundings() async throws {
        let harness = harness()
        setenv("WORKER_SECRET", "s", 1)
        harness.start()
        let script =
            "echo $SLUICE_OPERATION_ID $SLUICE_ATTEMPT $SLUICE_DELIVERY $SLUICE_QUEUE $COLOR; pwd; cat; "
            + "echo [$WORKER_SECRET] $SLUICE_FENCE"
        let id = try await harness.broker.put(
            "exec",
            json("sh", "-c", script, more: #","env":{"COLOR":"red"},"cwd":"/usr","stdin":"from input\n""#)
        )
        #expect(try await harness.reaches(.finished, id))
        let lines = try await lines(harness, id)
        #expect(lines == ["\(id) 1 1 default red", "/usr", "from input", "[] 1"])
        try await harness.stop()
    }

    private func script(_ path: String, _ text: String = "#!/bin/sh\necho \"$0\"\n", mode: Int = 0o755) throws {
        let url = URL(filePath: path)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    @Test("A program is looked up like in a shell: folders and non-executable files are skipped")
    func search() async throws {
        let folder = try TemporaryDirectory()
        try FileManager.default.createDirectory(
            atPath: folder.path("first/tool"),
            withIntermediateDirectories: true
        )
        try script(folder.path("second/tool"), mode: 0o644)
        try script(folder.path("third/tool"))
        let harness = harness()
        harness.start()
        let path = ["first", "second", "third"].map { folder.path($0) }.joined(separator: ":")
        let absolute = try await harness.broker.put("exec", json("tool", more: #","env":{"PATH":"\#(path)"}"#))
        let more = #","env":{"PATH":"second:third"},"cwd":"\#(folder.url.path)""#
        let relative = try await harness.broker.put("exec", json("tool", more: more))
        let slash = try await harness.broker.put("exec", json("third/tool", more: #","cwd":"\#(folder.url.path)""#))
        for id in [absolute, relative, slash] { #expect(try await harness.reaches(.finished, id)) }
        #expect(try await lines(harness, absolute) == [folder.path("third/tool")])
        #expect(try await lines(harness, relative) == ["third/tool"])
        #expect(try await lines(harness, slash) == ["third/tool"])
        try await harness.stop()
    }

    @Test("The error names the step and the path if nothing started")
    func steps() async throws {
        let folder = try TemporaryDirectory()
        try script(folder.path("flat"), mode: 0o644)
        try script(folder.path("lost"), "#!/no/such/interpreter\n")
        try script(folder.path("text"), "no first line\n")
        try Data().write(to: URL(filePath: folder.path("file")))
        let bin = folder.url.path
        let cases: [(argv: String, more: String, words: [String], code: Int32)] = [
            ("true", #","cwd":"/no/such/folder""#, ["cannot start true", "cwd", "\"/no/such/folder\""], ENOENT),
            ("true", #","cwd":"\#(folder.path("file"))""#, ["cwd", "\"\(folder.path("file"))\""], ENOTDIR),
            ("nothing", #","env":{"PATH":"\#(bin)"}"#, ["cannot start nothing", "PATH", bin], ENOENT),
            ("flat", #","env":{"PATH":"\#(bin)"}"#, ["cannot start flat", folder.path("flat"), "Permission"], EACCES),
            ("lost", #","env":{"PATH":"\#(bin)"}"#, [folder.path("lost"), "/no/such/interpreter"], ENOENT),
            (folder.path("text"), "", [folder.path("text"), "#!"], ENOEXEC),
            (bin, "", [bin, "folder"], EACCES),
        ]
        let harness = harness()
        harness.start()
        for (argv, more, words, code) in cases {
            let id = try await harness.broker.put("exec", json(argv, more: more), retry: .never)
            #expect(try await harness.reaches(.dead, id))
            let error = try await error(harness, id)
            for word in words { #expect(error?.message.contains(word) == true, "\(word) in \(error?.message ?? "")") }
            #expect(error?.details == ["errno": Int(code)], "\(error?.message ?? "")")
        }
        try await harness.stop()
    }

    @Test("A cancel ends the whole process group, with SIGTERM first")
    func cancelTerminates() async throws {
        let harness = harness(grace: .seconds(20))
        harness.start()
        let script = "trap 'echo terminated; exit 7' TERM; sleep 100 & echo $!; wait"
        let id = try await harness.broker.put("exec", json("sh", "-c", script))
        #expect(try await comesTrue { try await !lines(harness, id).isEmpty })
        let child = try #require(pid_t(try await lines(harness, id)[0]))
        _ = try await harness.cancel(id)
        #expect(try await harness.reaches(.cancelled, id))
        #expect(try await lines(harness, id).contains("terminated"))
        #expect(!isAlive(child))
        try await harness.stop()
    }

    @Test("A cancel kills processes that ignore SIGTERM or have left the group")
    func cancelKills() async throws {
        let harness = harness()
        harness.start()
        let script =
            "trap '' TERM; setsid sh -c 'trap \\\\\"\\\\\" TERM; echo $$; while :; do sleep 1; done' & "
            + "echo $$; while :; do sleep 1; done"
        let id = try await harness.broker.put(
            "exec",
            json("sh", "-c", script.replacingOccurrences(of: "\\\\\"", with: "\""))
        )
        #expect(try await comesTrue { try await lines(harness, id).count == 2 })
        let pids = try await lines(harness, id).compactMap { pid_t($0) }
        #expect(pids.count == 2 && pids.allSatisfy(isAlive))
        _ = try await harness.cancel(id)
        #expect(try await harness.reaches(.cancelled, id))
        #expect(!pids.contains(where: isAlive))
        try await harness.stop()
    }

    @Test("Processes that outlive their program are killed")
    func orphans() async throws {
        let harness = harness()
        harness.start()
        let id = try await harness.broker.put("exec", json("sh", "-c", "setsid sleep 100 & echo $!"))
        #expect(try await harness.reaches(.finished, id))
        let orphan = try #require(pid_t(try await lines(harness, id)[0]))
        #expect(!isAlive(orphan))
        try await harness.stop()
    }

    @Test("A program and processes that left its group die with a killed worker", arguments: [false, true])
    func workerKilled(guardToo: Bool) async throws {
        let worker = Process()
        worker.executableURL = fixture
        worker.arguments = [json("sh", "-c", "setsid sleep 100 & echo $! $$ $PPID; wait")]
        let output = Pipe()
        worker.standardOutput = output
        try worker.run()
        let line = try #require(String(data: output.fileHandleForReading.availableData, encoding: .utf8))
        let pids = line.split(whereSeparator: \.isWhitespace).compactMap { pid_t($0) }
        try #require(pids.count == 3)
        #expect(pids.allSatisfy(isAlive))
        if guardToo {
            kill(pids[2], SIGKILL)  // the guard takes the program with it; the test ends what the program started
            #expect(await comesTrue { !isAlive(pids[1]) })
            kill(pids[0], SIGKILL)
        }
        kill(worker.processIdentifier, SIGKILL)
        worker.waitUntilExit()
        #expect(await comesTrue { !pids.contains(where: isAlive) })
    }

    @Test("exec fails when its guard is killed, even if a process outside the group keeps the output open")
    func guardKilled() async throws {
        let harness = harness()
        harness.start()
        let id = try await harness.broker.put(
            "exec",
            json("sh", "-c", "setsid sleep 300 & echo $! $PPID; wait"),
            retry: .never
        )
        #expect(try await comesTrue { try await !lines(harness, id).isEmpty })
        let pids = try await lines(harness, id)[0].split(separator: " ").compactMap { pid_t($0) }
        try #require(pids.count == 2)
        kill(pids[1], SIGKILL)
        defer { kill(pids[0], SIGKILL) }
        #expect(try await harness.reaches(.dead, id))
        #expect(isAlive(pids[0]))
        let message = try await error(harness, id)?.message
        #expect(message == "the process that guards sh was killed, and the program with it")
        try await harness.stop()
    }

    @Test("A program that exceeds its run timeout is ended")
    func timeout() async throws {
        let harness = harness()
        harness.start()
        let id = try await harness.broker.put(
            "exec",
            json("sleep", "100"),
            retry: .never,
            runTimeout: .milliseconds(200)
        )
        #expect(try await harness.reaches(.dead, id))
        #expect(try await error(harness, id)?.type == "timeout")
        try await harness.stop()
    }

    @Test(
        "Arguments that exec cannot use are refused for good",
        arguments: [
            #"{}"#, #"{"argv":[]}"#, #"{"argv":"ls"}"#, #"{"argv":["ls",1]}"#, #"{"argv":["ls"],"shell":true}"#,
            #"{"argv":["a\u0000b"]}"#, #"{"argv":["ls"],"env":{"A=B":"c"}}"#, "[]",
        ]
    )
    func wrongArguments(json: String) async throws {
        let harness = harness()
        harness.start()
        let id = try await harness.broker.put("exec", json)
        #expect(try await harness.reaches(.dead, id))
        #expect(try await error(harness, id)?.type == "arguments")
        try await harness.stop()
    }

    @Test("Long output is stored, including lines without a line end")
    func longOutput() async throws {
        let harness = harness()
        harness.start()
        let id = try await harness.broker.put(
            "exec",
            json("sh", "-c", "seq 1 500; printf 'x%.0s' $(seq 1 9000); printf end >&2")
        )
        #expect(try await harness.reaches(.finished, id))
        let lines = try await lines(harness, id)
        #expect(lines.prefix(500) == (1...500).map(String.init)[...])
        #expect(lines.dropFirst(500).joined().count { $0 == "x" } == 9000)
        #expect(lines.contains { $0.contains("end") })
        try await harness.stop()
    }
}
