import Foundation
import Operations
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("programs")
    struct ExecTests {
        private let sluice = CommandLine()

        @Test("A program's output is the log and its exit status the error; one attempt, exit 1")
        func fails() async throws {
            let worker = try await sluice.worker("-c", "4", "--allow", "exec")
            let outcome = await
                (try sluice.start([
                    "enqueue", "--attempts", "1", "--wait=180s", "--", "sh", "-c", "echo hi; exit 3",
                ])).outcome()
            #expect(outcome.code == 1, "\(outcome.errors)")
            let id = String(outcome.output.dropLast())
            #expect(try await sluice.lines("logs", id) == ["hi"])
            let wide = try await sluice.lines("logs", id, "-o", "wide")
            #expect(wide.count == 1 && wide[0].wholeMatch(of: /20\d\d-[-\d]+T[\d:]+\.\d{3}Z  hi/) != nil, "\(wide)")
            let line = try #require(try await sluice.json("logs", id).arrayValue?.first)
            let record = try await sluice.json("show", id)
            let written = try #require(line.milliseconds("at"))
            let started = try #require(record.milliseconds("startedAt"))
            let ended = try #require(record.milliseconds("endedAt"))
            #expect(started <= written && written <= ended)
            #expect(record["state"]?.stringValue == "dead")
            #expect(record["error"]?["details"]?["exitCode"]?.intValue == 3)
            #expect(record["arguments"]?["argv"]?.arrayValue?.count == 3)
            let row = try #require(try await sluice.lines("list", "state:dead").last)
            #expect(row.contains("ended with exit code 3: hi") && row.hasSuffix("sh -c 'echo hi; exit 3'"), "\(row)")
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        @Test("With three attempts a program retries twice, then is dead with three errors")
        func retries() async throws {
            // After a late heartbeat the enqueue would say that no live worker serves the queue.
            let worker = try await sluice.worker("--allow", "exec", "--lease", "60s")
            let follow = try sluice.start([
                "enqueue", "--attempts", "3", "--follow", "--", "sh", "-c", "echo try $SLUICE_ATTEMPT; exit 3",
            ])
            let outcome = await follow.outcome()
            #expect(outcome.code == 1, "\(outcome.errors)")
            #expect(outcome.output == "try 1\ntry 2\ntry 3\n")
            let id = try #require(outcome.errors.split(separator: "\n").first.map(String.init))
            let record = try await sluice.json("show", id)
            #expect(record["state"]?.stringValue == "dead")
            #expect(record["errors"]?.arrayValue?.map { $0["attempt"]?.intValue } == [1, 2, 3], "\(record)")
            // The pauses may be over before the test looks, so it checks the totals.
            #expect(try await sluice.total("started") == 3)
            #expect(try await sluice.total("retried") == 2)
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        @Test(
            "sluice in a program starts no private Redis; with --pass-redis it uses the Redis of its worker",
            arguments: [false, true]
        )
        func inside(passesRedis: Bool) async throws {
            let worker = try await sluice.worker(["--allow", "exec"] + (passesRedis ? ["--pass-redis"] : []))
            let home = try TemporaryDirectory()
            let program = Program.directory.appendingPathComponent("sluice").path
            let outcome = await
                (try sluice.start([
                    "enqueue", "--attempts", "1", "--wait=180s", "--env", "HOME=\(home.url.path)", "--", program,
                    "enqueue", "noop", "--id", "from-inside", "--quiet", "--connect-timeout", "60s",
                ])).outcome()
            if passesRedis {
                #expect(outcome.code == 0, "\(outcome.errors)")
                #expect(try await sluice.json("show", "from-inside")["name"] == "noop")
            } else {
                #expect(outcome.code == 1, "\(outcome.errors)")
                let id = String(outcome.output.dropLast())
                let error = try await sluice.json("show", id)["error"]
                #expect(error?["details"]?["exitCode"]?.intValue == 78, "\(error ?? [:])")
                #expect(try await sluice.lines("logs", id).contains { $0.contains("worker --pass-redis") })
                #expect(try FileManager.default.contentsOfDirectory(atPath: home.url.path).isEmpty)
            }
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        @Test("A worker without --allow exec gives a program back unrun, and the enqueue warns about it")
        func notAllowed() async throws {
            // The lease is long: after a late heartbeat the enqueue would say that no live worker serves the queue.
            let worker = try await sluice.worker("--lease", "10m")
            let outcome = await (try sluice.start(["enqueue", "--", "true"])).outcome()
            #expect(
                outcome.errors.contains(
                    "no live worker handles \"exec\" (queue default) (start one with --allow exec)"
                ),
                "\(outcome.errors)"
            )
            let id = String(outcome.output.dropLast())
            try await eventually("it is unhandled") {
                try await sluice.json("show", id)["unhandled"]?.boolValue == true
            }
            #expect(try await sluice.json("show", id)["attempt"]?.intValue == 0)
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        @Test("A cancel ends all processes of a program, and so does kill -9 of its worker")
        func noChildIsLeft() async throws {
            let folder = try TemporaryDirectory()
            let worker = try await sluice.worker("--allow", "exec")
            func tree(_ name: String) -> [String] {
                [
                    "--", "sh", "-c",
                    "sleep 600 & echo $! > \(folder.path(name)).new; mv \(folder.path(name)).new \(folder.path(name)); wait",
                ]
            }
            func start(_ name: String) async throws -> (id: String, child: Int32) {
                let outcome = await (try sluice.start(["enqueue", "--quiet"] + tree(name))).outcome()
                try await eventually("the program runs") {
                    FileManager.default.fileExists(atPath: folder.path(name))
                }
                let text = try String(contentsOfFile: folder.path(name), encoding: .utf8)
                let child = try #require(Int32(text.trimmingCharacters(in: .whitespacesAndNewlines)))
                return (String(outcome.output.dropLast()), child)
            }
            let first = try await start("first")
            #expect(kill(first.child, 0) == 0)
            #expect(try await sluice("cancel", first.id, "--wait=180s").code == 0)
            try await eventually("the child is gone") { kill(first.child, 0) != 0 }
            let second = try await start("second")
            #expect(kill(second.child, 0) == 0)
            worker.send(SIGKILL)
            #expect(await worker.outcome().code == 137)
            try await eventually("the child is gone") { kill(second.child, 0) != 0 }
        }
    }
}
