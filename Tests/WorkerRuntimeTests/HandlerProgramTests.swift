import Foundation
import Glibc
import Operations
import TestSupport
import Testing

@testable import BuiltinOperations
@testable import BrokerModel
@testable import WorkerRuntime

@Suite("A handler program", .timeLimit(.minutes(60)))
struct HandlerProgramTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    /// Starts a worker whose operation `work` is the script.
    private func harness(_ script: String, grace: Duration = .milliseconds(300)) throws -> Harness<InMemoryBroker> {
        let harness = Harness(handlers: [try handler(script, grace: grace)])
        harness.start()
        return harness
    }

    private func handler(_ script: String, grace: Duration = .milliseconds(300)) throws -> OperationHandler {
        let path = folder.path("work")
        try Data(script.utf8).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        let guardPath = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appending(path: "guard-fixture").path
        return BuiltinOperations.program("work", path: path, guardPath: guardPath, cancelGrace: grace)
    }

    /// A run whose checkpoint another client has written
    private struct ForeignCheckpoint: OperationLink {
        let checkpoint: [UInt8]
        var ownsLease: Bool { true }
        var cancellation: OperationCancellation? { nil }
        func write(_ content: Report.Content) {}
        func lastCheckpoint() async throws -> [UInt8]? { checkpoint }
    }

    @Test(
        "A checkpoint written by another client cannot inject an environment variable",
        arguments: [
            ("1\0INJECTED=yes", "none"), ("\"\0INJECTED=yes\"", "none"), ("nonsense", "none"),
            (#"{"page": 1}"#, #"{\"page\":1}"#), (#""a\u0000b""#, #"\"a\\u0000b\""#),
        ]
    )
    func foreignCheckpoints(stored: String, seen: String) async throws {
        let handler = try handler(
            """
            #!/usr/bin/env python3
            import json, os
            print(json.dumps([os.environ.get("INJECTED"), os.environ.get("SLUICE_CHECKPOINT", "none")]))
            assert os.environ["SLUICE_HEADERS"] == '{"a":"\\\\u0000INJECTED=yes"}', os.environ["SLUICE_HEADERS"]
            """
        )
        let context = OperationContext(
            claimed: ClaimedOperation(fence: 1, header: OperationHeader(id: OperationID()), envelope: []),
            envelope: OperationEnvelope(name: "work", headers: ["a": "\0INJECTED=yes"]),
            queue: "default",
            link: ForeignCheckpoint(checkpoint: Array(stored.utf8))
        )
        let result = try await handler.body(Array("{}".utf8), context)
        #expect(String(decoding: result, as: UTF8.self) == #"[null,"\#(seen)"]"#)
    }

    @Test("A program reads arguments on standard input and answers on standard output; standard error is the log")
    func answers() async throws {
        let harness = try harness(
            """
            #!/usr/bin/env python3
            import json, os, sys
            arguments = json.load(sys.stdin)
            print("working on", arguments["path"], file=sys.stderr)
            print(json.dumps({"double": arguments["n"] * 2, "name": os.environ["SLUICE_OPERATION_NAME"],
                              "attempt": os.environ["SLUICE_ATTEMPT"], "secret": os.environ.get("WORKER_SECRET")},
                             indent=2))
            """
        )
        setenv("WORKER_SECRET", "s", 1)
        let id = try await harness.broker.put("work", #"{"path":"a b","n":9007199254740993}"#)
        #expect(try await harness.reaches(.finished, id))
        #expect(
            try await harness.result(id)
                == #"{"double":18014398509481986,"name":"work","attempt":"1","secret":null}"#
        )
        #expect(try await harness.lines(id) == ["working on a b"])
        try await harness.stop()
    }

    @Test("A program may answer nothing; its progress and checkpoint arrive, also from its last line")
    func reports() async throws {
        let harness = try harness(
            """
            #!/bin/sh
            echo '{"progress":0.25,"message":"page 1","checkpoint":{"page":1}}' >&3
            printf '{"progress":2}' >&3
            """
        )
        let id = try await harness.broker.put("work")
        #expect(try await harness.reaches(.finished, id))
        let detail = try await harness.detail(id)
        #expect(detail?.result ?? [] == [])
        #expect(detail?.progress?.fraction == 1)
        #expect(detail?.checkpoint == Array(#"{"page":1}"#.utf8))
        try await harness.stop()
    }

    @Test("A program continues from its checkpoint in the next attempt, and decides what follows an error")
    func retries() async throws {
        let harness = try harness(
            """
            #!/bin/sh
            read -r how
            echo "$SLUICE_ATTEMPT ${SLUICE_CHECKPOINT:-none}" >&2
            case $how$SLUICE_ATTEMPT in
            '"resume"1') echo '{"checkpoint":[7]}' >&3; echo '{"error":"later","type":"busy"}' >&3; exit 7 ;;
            '"wait"1') echo '{"error":"closed at night","after":3600}' >&3; exit 1 ;;
            '"dead"1') echo '{"error":"no such customer","then":"dead"}' >&3; exit 4 ;;
            '"discard"1') echo '{"error":"was deleted","then":"discard"}' >&3; exit 5 ;;
            '"plain"1') echo 'cannot open it' >&2; exit 6 ;;
            '"good"1') echo '{"error":"did not matter"}' >&3 ;;
            esac
            """
        )
        func put(_ how: String, base: Duration = .seconds(60)) async throws -> OperationID {
            try await harness.broker.put("work", "\"\(how)\"", retry: RetryPolicy(attempts: 2, base: base))
        }
        let resumed = try await put("resume", base: .milliseconds(10))
        #expect(try await harness.reaches(.finished, resumed))
        #expect(try await harness.lines(resumed) == ["1 none", "2 [7]"])
        let error = try await harness.error(resumed)
        #expect(error?.type == "busy" && error?.message == "later" && error?.details == ["exitCode": 7])
        let waiting = try await put("wait")
        #expect(try await harness.reaches(.retrying, waiting))
        let record = try #require(try await harness.detail(waiting)?.record)
        #expect(record.dueAt - record.startedAt >= 3_600_000)
        let dead = try await put("dead")
        #expect(try await harness.reaches(.dead, dead))
        #expect(try await harness.error(dead)?.verdict == .final)
        let discarded = try await put("discard")
        #expect(try await harness.reaches(.cancelled, discarded))
        #expect(try await harness.error(discarded)?.verdict == .discarded)
        let plain = try await put("plain")
        #expect(try await harness.reaches(.retrying, plain))
        // As for exec, the last line on standard error usually gives the reason.
        #expect(try await harness.error(plain)?.message.hasSuffix("ended with exit code 6: cannot open it") == true)
        #expect(try await harness.reaches(.finished, try await put("good")))
        try await harness.stop()
    }

    @Test("Exit code 75 snoozes: the program runs again in the same attempt, with its checkpoint and no error")
    func snoozes() async throws {
        let harness = try harness(
            """
            #!/bin/sh
            read -r how
            echo "$SLUICE_ATTEMPT ${SLUICE_CHECKPOINT:-none}" >&2
            [ "$SLUICE_CHECKPOINT" = 7 ] && exit 0
            echo '{"checkpoint":7}' >&3
            [ "$how" = '"soon"' ] && echo '{"snooze":0.01}' >&3
            [ "$how" = '"long"' ] && echo '{"snooze":3600,"error":"the export is not ready"}' >&3
            exit 75
            """
        )
        let soon = try await harness.broker.put("work", #""soon""#, retry: .never)
        #expect(try await harness.reaches(.finished, soon))
        #expect(try await harness.lines(soon) == ["1 none", "1 7"])
        let detail = try await harness.detail(soon)
        #expect(detail?.errors == [] && detail?.snooze?.count == 1)
        for (how, seconds) in [("long", 3600), ("plain", 30)] {
            let id = try await harness.broker.put("work", "\"\(how)\"", retry: .never)
            #expect(try await harness.reaches(.scheduled, id))
            let detail = try #require(try await harness.detail(id))
            #expect(detail.record.dueAt - detail.record.startedAt >= Int64(1000 * seconds))
            #expect(detail.record.dueAt - detail.record.startedAt < Int64(1000 * seconds + 60_000))
            #expect(detail.snooze?.reason == (how == "long" ? "the export is not ready" : ""))
        }
        try await harness.stop()
    }

    @Test(
        "A program whose answer is no valid result is dead, and the error gives the reason",
        arguments: [
            ("echo hello", "is not JSON"), ("echo '{} {}'", "is not JSON"), ("printf '\\377\\000'", "is not JSON"),
            ("yes | head -c 3000000", "wrote more than 1048576 bytes"), ("cat /dev/zero", "wrote more than"),
            ("for i in $(seq 100); do printf '[[[[[[[[[['; done", "is not JSON"),
        ]
    )
    func noResult(command: String, message: String) async throws {
        let harness = try harness("#!/bin/sh\n\(command)\n")
        let id = try await harness.broker.put("work")
        #expect(try await harness.reaches(.dead, id))
        let error = try await harness.error(id)
        #expect(error?.type == "result" && error?.verdict == .final)
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
        try await harness.stop()
    }

    @Test("Invalid lines on descriptor 3 are logged three times and otherwise ignored")
    func garbage() async throws {
        let harness = try harness(
            """
            #!/usr/bin/env python3
            import os, sys
            def say(data): os.write(3, data)
            say(b"no json\\n")
            say(b"[1]\\n\\n")
            say(b'{"progress":"much"}\\n')
            say(b'{"nothing":1}\\n{"error":3}\\n{"error":"x","then":"perhaps"}\\n{"error":"x","after":-1}\\n')
            say(b"\\xff\\x00\\x1b[2J\\n")
            say(b'{"checkpoint":"' + b"x" * 70000 + b'"}\\n')
            say(b"y" * 300000)
            say(b'\\n{"progress":0.5,"message":"' + b"z" * 9000 + b'"}\\n')
            print('"done"')
            """
        )
        let id = try await harness.broker.put("work")
        #expect(try await harness.reaches(.finished, id))
        #expect(try await harness.result(id) == #""done""#)
        let lines = try await harness.lines(id)
        #expect(lines.count == 4, "\(lines)")
        #expect(lines.first == #"sluice: descriptor 3: "no json" is not a JSON object: ignored"#)
        #expect(lines.last?.contains("more lines were ignored") == true)
        let detail = try await harness.detail(id)
        #expect(detail?.checkpoint == nil)
        #expect(detail?.progress?.message.count ?? 0 <= 500)
        try await harness.stop()
    }

    @Test("A cancel or a run timeout sends SIGTERM to the whole group, and SIGKILL after the grace")
    func cancels() async throws {
        let script =
            """
            #!/bin/sh
            read -r how
            case $how in
            1) trap 'echo terminated >&2; exit 0' TERM ;;
            2) trap '' TERM ;;
            esac
            setsid sleep 300 & echo $! >&2
            sleep 300 & wait
            sleep 300
            """
        // On a busy machine a program that listens needs time to end by itself.
        let longGrace = Duration.seconds(20)
        for (how, isListening) in [("1", true), ("2", false), ("1", true)] {
            let harness = try self.harness(script, grace: isListening ? longGrace : .milliseconds(300))
            let id = try await harness.broker.put("work", how)
            #expect(try await comesTrue { try await !harness.lines(id).isEmpty })
            let child = try #require(pid_t(try await harness.lines(id)[0]))
            #expect(kill(child, 0) == 0)
            _ = try await harness.cancel(id)
            #expect(try await harness.reaches(.cancelled, id))
            #expect(try await harness.lines(id).contains("terminated") == isListening)
            #expect(kill(child, 0) != 0)
            try await harness.stop()
        }
        let harness = try self.harness(script, grace: longGrace)
        let late = try await harness.broker.put("work", "1", retry: .never, runTimeout: .milliseconds(200))
        #expect(try await harness.reaches(.dead, late))
        #expect(try await harness.error(late)?.type == "timeout")
        try await harness.stop()
    }

    @Test("A program has only its four descriptors, and descriptor 3 does not reach the guard")
    func descriptors() async throws {
        let harness = try harness(
            """
            #!/usr/bin/env python3
            import json, os, stat
            found = {}
            for name in os.listdir("/proc/self/fd"):
                try: mode = os.fstat(int(name)).st_mode
                except OSError: continue
                found[name] = "pipe" if stat.S_ISFIFO(mode) else "socket" if stat.S_ISSOCK(mode) else "file"
            print(json.dumps(dict(sorted(found.items()))))
            """
        )
        let id = try await harness.broker.put("work")
        #expect(try await harness.reaches(.finished, id))
        #expect(try await harness.result(id) == #"{"0":"file","1":"pipe","2":"pipe","3":"pipe"}"#)
        try await harness.stop()
    }

    @Test("A program that is open for writing is retried for a moment")
    func busy() async throws {
        let harness = try harness("#!/bin/sh\nexit 0\n")
        var state: OperationState?
        // On a busy machine the pause may be longer than the retries, so the test tries several times.
        for _ in 0..<10 where state != .finished {
            let writer = try #require(FileHandle(forUpdatingAtPath: folder.path("work")))
            let id = try await harness.broker.put("work", retry: .never)
            // The program may have ended before this test sees that it is executing.
            try await eventually("it is executing") {
                state = try await harness.state(id)
                return state == .executing || state == .finished || state == .dead
            }
            await takeTime(.milliseconds(50))
            try writer.close()
            try await eventually("it ends") {
                state = try await harness.state(id)
                return state == .finished || state == .dead
            }
        }
        #expect(state == .finished)
        let late = try #require(FileHandle(forUpdatingAtPath: folder.path("work")))
        let refused = try await harness.broker.put("work", retry: .never)
        #expect(try await harness.reaches(.dead, refused))
        #expect(try await harness.error(refused)?.message.hasSuffix("Text file busy") == true)
        try late.close()
        try await harness.stop()
    }

    @Test("The error of a program that cannot be started gives the reason")
    func missing() async throws {
        let harness = try harness("#!/no/such/interpreter\n")
        let id = try await harness.broker.put("work", retry: .never)
        #expect(try await harness.reaches(.dead, id))
        let message = try #require(try await harness.error(id)?.message)
        #expect(message.contains("No such file or directory") && message.contains("\"/no/such/interpreter\""))
        try await harness.stop()
    }
}
