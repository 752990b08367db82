import Foundation
import Operations
import RedisClient
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("workers")
    struct WorkerTests {
        private let sluice = CommandLine()

        @Test("An idle worker gives the memory of its startup code back, and works on")
        func idle() async throws {
            // Memory shrinks one heartbeat after the first idle one. With this lease, that is after the measurements at
            // the start.
            let worker = try sluice.start(["worker", "-v", "--lease", "60s"])
            func resident(_ field: String) throws -> Int {
                let status = try String(contentsOfFile: "/proc/\(worker.identifier)/status", encoding: .utf8)
                let line = try #require(status.split(separator: "\n").first { $0.hasPrefix(field) })
                return try #require(Int(line.split(separator: " ").dropLast().last ?? ""))
            }
            var most = 0
            try await eventually("the worker is known") {
                most = max(most, try resident("RssFile:"))
                return try await sluice.snapshots().contains { !$0.workers.isEmpty }
            }
            try await eventually("its memory shrinks") { try resident("RssFile:") < most * 3 / 4 }
            try await sluice.reaches("finished", try await sluice.enqueue("noop"))
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        @Test("A killed worker is LOST until it is recovered, also beside a new one, and then in the history")
        func killed() async throws {
            func start(_ name: String) throws -> Program {
                try sluice.start(["worker", "--lease", "3s", "--name", name])
            }
            let first = try start("first")
            let id = try await sluice.enqueue("sleep", "seconds:=600")
            try await sluice.begins(id)
            first.send(SIGKILL)
            _ = await first.outcome()
            func states() async throws -> [String: String] {
                let workers = try await sluice.json("workers", "ls")["workers"]?.arrayValue ?? []
                let named = workers.map { ($0["name"]?.stringValue ?? "", $0["state"]?.stringValue ?? "") }
                return Dictionary(named) { _, last in last }
            }
            try await eventually("it is LOST") { try await states() == ["first": "LOST"] }
            let second = try start("second")
            try await eventually("the second works") { try await states()["second"] == "running" }
            var seen: Set<String> = []
            try await eventually("it is recovered") {
                let first = try await states()["first"]
                if let first { seen.insert(first) }
                return first == nil
            }
            #expect(seen.isSubset(of: ["LOST"]), "\(seen)")
            let report = try await sluice.json("workers", "ls")
            #expect(report["workers"]?.arrayValue?.map { $0["name"]?.stringValue } == ["second"])
            let lost = try #require(report["lost"]?.arrayValue)
            #expect(lost.map { $0["name"]?.stringValue } == ["first"])
            let shown = try await sluice.json("workers", "show", "first")
            #expect(shown == lost.first)
            #expect(shown["state"]?.stringValue == "lost")
            #expect([shown["recovered"], shown["dead"], shown["cancelled"]].map { $0?.intValue } == [1, 0, 0])
            let lease = try #require(shown.milliseconds("lostAt")) - (try #require(shown.milliseconds("beatAt")))
            #expect(lease == 3000)
            let lines = try await sluice.lines("workers", "ls", "--lost")
            #expect(lines.count == 2 && lines[1].hasPrefix("first"), "\(lines)")
            let whole = try await sluice.lines("workers", "show", "first")
            #expect(whole.dropLast().last?.hasPrefix("its operations: 1 recovered") == true, "\(whole)")
            #expect(whole.last == "  default/\(id)")
            let recovery = try #require(try await sluice.json("show", id)["recoveries"]?.arrayValue?.first)
            #expect(
                recovery["name"]?.stringValue == "first" && recovery["cause"]?.stringValue == "lease",
                "\(recovery)"
            )
            let facts = try await sluice.lines("show", id)
            #expect(
                facts.contains {
                    $0.contains("recovered  ") && $0.contains(" from first on ")
                        && $0.contains("the lease of the worker ran out")
                },
                "\(facts)"
            )
            let events = try await sluice.lines("events", "--since", "1h", "--no-follow", "-o", "csv")
            let back = try #require(events.first { $0.contains(",\(id),ready,") }, "\(events)")
            #expect(back.contains("recovery,first on "), "\(back)")
            #expect(back.hasSuffix("was lost: the lease of the worker ran out"), "\(back)")
            #expect(try await sluice.lines("workers", "ls", "-o", "jsonl").count == 1)
            #expect(try await sluice.lines("workers", "ls", "--lost", "-o", "id") == [shown["id"]?.stringValue ?? ""])
            _ = try await sluice("cancel", id)
            second.send(SIGTERM)
            #expect(await second.outcome().code == 0)
        }

        @Test("SIGTERM lets running operations end; attempt and delivery are those of one run")
        func drain() async throws {
            let worker = try await sluice.worker("-c", "1")
            let running = try await sluice.enqueue("sleep", "seconds:=6")
            let waiting = try await sluice.enqueue("noop")
            try await sluice.begins(running)
            worker.send(SIGTERM)
            let outcome = await worker.outcome()
            #expect(outcome.code == 0, "\(outcome.errors)")
            let record = try await sluice.json("show", running)
            #expect(record["state"]?.stringValue == "finished")
            #expect(record["attempt"]?.intValue == 1)
            #expect(record["delivery"]?.intValue == 1)
            let other = try await sluice.json("show", waiting)
            #expect(other["state"]?.stringValue == "ready")
            #expect(other["attempt"]?.intValue == 0)
            #expect(other["delivery"]?.intValue == 1)
        }

        @Test("A second SIGTERM ends the worker within 2 s; its operation is ready again, untried")
        func secondSignal() async throws {
            let worker = try await sluice.worker()
            let id = try await sluice.enqueue("sleep", "seconds:=600")
            try await sluice.begins(id)
            worker.send(SIGTERM)
            try await eventually("it drains") { worker.errors.contains("draining, up to 30s") }
            let started = ContinuousClock.now
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 143)
            expectPrompt("second SIGTERM", since: started, promised: .seconds(2))
            let deliveries = try await sluice.broker.recoverRest(of: worker, since: started)
            try await sluice.reaches("ready", id)
            let record = try await sluice.json("show", id)
            #expect(record["attempt"]?.intValue == 0)
            #expect(deliveries.contains(record["delivery"]?.intValue ?? 0), "\(record)")
        }

        @Test("An operation that misses the drain timeout is given back untried")
        func drainTimeout() async throws {
            let worker = try await sluice.worker("--drain-timeout", "200ms")
            let id = try await sluice.enqueue("sleep", "seconds:=600")
            try await sluice.begins(id)
            worker.send(SIGINT)
            #expect(await worker.outcome().code == 0)
            try await sluice.broker.recoverRest(of: worker)
            try await sluice.reaches("ready", id)
            let record = try await sluice.json("show", id)
            #expect(record["attempt"]?.intValue == 0)
        }

        @Test("kill -9: another worker runs the operations within lease, heartbeat and 1 s; delivery 2, attempt 1")
        func crash() async throws {
            let first = try await sluice.worker("--lease", "3s")
            let ids = try await [sluice.enqueue("sleep", "seconds:=600"), sluice.enqueue("sleep", "seconds:=600")]
            for id in ids { try await sluice.begins(id) }
            let lost = try #require(try await sluice.detail(ids[0])?.worker)
            let second = try await sluice.worker("--lease", "3s")
            let killed = Int64(Date().timeIntervalSince1970 * 1000)
            first.send(SIGKILL)
            #expect(await first.outcome().code == 137)
            for id in ids {
                try await eventually("\(id) runs in the second") {
                    let detail = try await sluice.detail(id)
                    return detail?.state == .executing && detail?.worker != lost
                }
                let record = try await sluice.json("show", id)
                #expect(record["attempt"]?.intValue == 1)
                // The delivery is higher if a late heartbeat cost the first worker its operations, and it claimed them
                // again.
                #expect(record["delivery"]?.intValue ?? 0 >= 2, "\(record)")
                let restarted = try #require(record.milliseconds("startedAt"))
                // The lease plus the time that detecting its end may take
                expectPrompt("the restart", took: .milliseconds(restarted - killed), promised: .milliseconds(5500))
            }
            try await sluice.lines("cancel", ids[0], ids[1], "--wait=180s")
            second.send(SIGTERM)
            #expect(await second.outcome().code == 0)
        }

        @Test(
            "kill -STOP for two leases, then -CONT: the operation ran elsewhere, and its late end is refused and logged"
        )
        func stopped() async throws {
            let first = try await sluice.worker("--lease", "2s")
            let id = try await sluice.enqueue("sleep", "seconds:=30")
            try await sluice.begins(id)
            first.send(SIGSTOP)
            // The lease of the second worker does not lapse.
            let second = try await sluice.worker("--lease", "60s")
            try await eventually("it is recovered") {
                try await sluice.detail(id)?.record.header.delivery ?? 0 >= 2
            }
            first.send(SIGCONT)
            try await sluice.reaches("finished", id)
            try await eventually("the stopped worker says that it lost it") {
                first.errors.contains("this worker no longer owns the operation")
            }
            #expect(try await sluice.total("finished") == 1)
            for worker in [first, second] {
                worker.send(SIGTERM)
                #expect(await worker.outcome().code == 0)
            }
        }

        @Test(
            "A worker waits for a Redis that goes away and comes back, and nothing is lost",
            .enabled(if: TestRedis.isSingle, "a server crashes and comes back; ClusterTests kill a node")
        )
        func outage() async throws {
            let server = try TestServer.start(.durable)
            let sluice = CommandLine(server.endpoint)
            let worker = try await sluice.worker("--lease", "3s")
            let running = try await sluice.enqueue("sleep", "seconds:=6")
            try await sluice.begins(running)
            server.crash()
            #expect(try await sluice("stats", "--connect-timeout", "300ms").code == 69)
            try server.restart()
            try await sluice.reaches("finished", running)
            let later = try await sluice("enqueue", "noop", "--wait=180s", "--quiet")
            #expect(later.code == 0, "\(later.errors)")
            let record = try await sluice.json("show", running)
            #expect(record["attempt"]?.intValue == 1)
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        @Test("--max-operations: after this many runs the worker exits 0 with the reason; the rest stays ready")
        func recycled() async throws {
            for _ in 1...5 { _ = try await sluice.enqueue("noop") }
            let outcome = try await sluice("worker", "-c", "1", "--max-operations", "3")
            #expect(outcome.code == 0)
            #expect(outcome.errors.contains("recycling: the limit of operations that ended here"), "\(outcome.errors)")
            #expect(try await sluice.count(.finished) == 3)
            #expect(try await sluice.count(.ready) == 2)
            let isGone = try await sluice.snapshots().allSatisfy(\.workers.isEmpty)
            expectUnlessSlow("the worker has given up its lease", isGone)
        }

        @Test("--max-rss: a worker above it exits 0 with the reason")
        func tooLarge() async throws {
            let outcome = try await sluice("worker", "--max-rss", "16M")
            #expect(outcome.code == 0)
            #expect(outcome.errors.contains("recycling: the limit of resident memory"), "\(outcome.errors)")
        }

        @Test(
            "A worker refuses a Redis that evicts keys; with --allow-eviction it works and logs an error",
            .enabled(if: TestRedis.isSingle, "it is about one server's settings; ClusterTests have those of a node")
        )
        func evictingServer() async throws {
            let server = try TestServer.start(.init(["maxmemory 100mb", "maxmemory-policy allkeys-lru"]))
            let sluice = CommandLine(server.endpoint)
            let refused = try await sluice("worker", "--burst")
            #expect(refused.code == 78)
            #expect(refused.errors.contains("maxmemory-policy allkeys-lru"), "\(refused.errors)")
            #expect(refused.errors.contains("--allow-eviction"), "\(refused.errors)")
            let loud = try await sluice("worker", "--burst", "--allow-eviction")
            #expect(loud.code == 0)
            #expect(loud.errors.contains("error   Redis evicts operations"), "\(loud.errors)")
        }

        @Test(
            "A worker refuses an evicting Redis that was away at the start",
            .enabled(if: TestRedis.isSingle, "it is about one server's settings")
        )
        func evictingWhenItComes() async throws {
            let server = try TestServer.start(.init(["maxmemory 100mb", "maxmemory-policy allkeys-lru"]))
            server.crash()
            let worker = try CommandLine(server.endpoint).start(["worker", "--connect-timeout", "1s"])
            try await eventually("it waits") { worker.errors.contains("waiting for Redis") }
            try server.restart()
            let end = await worker.outcome()
            #expect(end.code == 78, "\(end.errors)")
            #expect(end.errors.contains("--allow-eviction"), "\(end.errors)")
        }

        @Test(
            "A worker warns once when its Redis begins to evict keys",
            .enabled(if: TestRedis.isSingle, "it is about one server's settings")
        )
        func evictingLater() async throws {
            let server = try TestServer.start(.init(["maxmemory 100mb"]))
            let sluice = CommandLine(server.endpoint)
            let worker = try await sluice.worker("--watch-interval", "100ms")
            try server.ask(RedisCommand("CONFIG", "SET", "maxmemory-policy", "volatile-lru"))
            try await eventually("the worker says so") { worker.errors.contains("maxmemory-policy volatile-lru") }
            try server.ask(RedisCommand("CONFIG", "SET", "maxmemory-policy", "noeviction"))
            try await eventually("the worker has seen that, too") {
                worker.errors.contains("Redis does not evict keys")
            }
            #expect(worker.errors.matches(of: /Redis evicts operations/).count == 1)
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        @Test("--burst ends when nothing is left to do; --burst=all waits for scheduled operations")
        func burst() async throws {
            let now = try await sluice.enqueue("noop")
            let never = try await sluice.enqueue("noop", "--in", "1h")
            #expect(try await sluice("worker", "--burst").code == 0)
            #expect(try await sluice.state(now) == "finished")
            #expect(try await sluice.state(never) == "scheduled")
            try await sluice.lines("cancel", never)
            let later = try await sluice.enqueue("noop", "--in", "3s")
            #expect(try await sluice("worker", "--burst=all").code == 0)
            #expect(try await sluice.state(later) == "finished")
        }

        @Test("--in starts on time on an idle worker, and an earlier time that is enqueued later starts first")
        func delayed() async throws {
            // The heartbeats are too far apart to find a due operation.
            let worker = try await sluice.worker("-c", "1", "--lease", "10m")
            // So late that it still waits when the other operation has ended, however slow the commands are.
            let late = try await sluice.enqueue("noop", "--in", "30m")
            let early = try await sluice.enqueue("noop", "--in", "1s")
            try await sluice.reaches("finished", early)
            let record = try await sluice.json("show", early)
            let due = try #require(record.milliseconds("dueAt"))
            let started = try #require(record.milliseconds("startedAt"))
            #expect(started >= due)
            expectPrompt("the start", took: .milliseconds(started - due), promised: .seconds(5))
            #expect(try await sluice.state(late) == "scheduled")
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        @Test("A paused queue starts nothing; a resumed one starts at once")
        func pause() async throws {
            _ = try await sluice.enqueue("noop")
            let worker = try await sluice.worker()
            try await eventually("the queue is empty") { try await sluice.count(.ready) == 0 }
            try await sluice.lines("queue", "pause", "default")
            let id = try await sluice.enqueue("noop")
            #expect(try await sluice("wait", id, "--timeout", "500ms").code == 4)
            #expect(try await sluice.state(id) == "ready")
            try await sluice.lines("queue", "resume", "default")
            let resumed = Int64(Date().timeIntervalSince1970 * 1000)
            #expect(try await sluice("wait", id, "--timeout", "180s").code == 0)
            let started = try #require(try await sluice.json("show", id).milliseconds("startedAt"))
            expectPrompt("the start", took: .milliseconds(started - resumed), promised: .milliseconds(500))
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        @Test("A dead operation: --wait exits 1 with the error; retry runs it again and keeps its errors")
        func deadAndRetried() async throws {
            let worker = try await sluice.worker()
            let outcome = try await sluice("enqueue", "fail", "message=boom", "--attempts", "1", "--wait")
            #expect(outcome.code == 1)
            #expect(outcome.errors.contains("is dead after 1 attempt: fail: boom"), "\(outcome.errors)")
            let id = String(outcome.output.dropLast())
            #expect(try await sluice("result", id).code == 1)
            try await sluice.lines("retry", id)
            #expect(try await sluice("wait", id, "--timeout", "180s").code == 1)
            #expect(try await sluice.json("show", id)["errors"]?.arrayValue?.count == 2)
            try await sluice.lines("rm", id)
            #expect(try await sluice("show", id).code == 3)
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        @Test("A JSON log has one object per line, and the first one describes the worker")
        func jsonLog() async throws {
            _ = try await sluice.enqueue("fail", "message=x", "--attempts", "1")
            let end = await (try sluice.start(["worker", "--burst", "--log-format", "json", "--name", "w1"])).outcome()
            #expect(end.code == 0)
            #expect(end.output.isEmpty)
            let entries = try end.errors.split(separator: "\n").map { try JSONValue(parsing: String($0)) }
            #expect(entries.first?["message"]?.stringValue == "worker started")
            #expect(entries.contains { $0["metadata"]?["operation.name"]?.stringValue == "fail" })
        }
    }
}
