import Foundation
import Operations
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("several processes")
    struct ProcessesTests {
        /// A lease so long that none lapses during a test
        private static let lease = "10m"
        private let sluice = CommandLine()

        private func start(_ arguments: String..., processes: Int = 2) async throws -> Program {
            let supervisor = try sluice.start(
                ["worker", "-v", "--processes", "\(processes)", "-c", "1", "--lease", Self.lease] + arguments
            )
            try await eventually("all processes are known") {
                try await infos().count == processes
            }
            return supervisor
        }

        private func infos() async throws -> [(worker: String, pid: Int32)] {
            try await sluice.snapshots().flatMap(\.workers).compactMap { row in
                WorkerInfo(row.info).map { (row.worker, Int32($0.pid)) }
            }
        }

        /// Returns the process that runs an operation.
        private func process(of id: String) async throws -> Int32 {
            let worker = try await sluice.detail(id)?.worker
            return try #require(try await infos().first { $0.worker == worker }?.pid)
        }

        @Test("kill -9 of one process: another runs its operation at once, delivery 2, attempt 1, and replaces it")
        func killed() async throws {
            let supervisor = try await start()
            let id = try await sluice.enqueue("sleep", "seconds:=600")
            try await sluice.begins(id)
            let victim = try await process(of: id)
            let killed = Int64(Date().timeIntervalSince1970 * 1000)
            #expect(kill(victim, SIGKILL) == 0)
            try await eventually("another one runs it") {
                let detail = try await sluice.detail(id)
                return detail?.state == .executing && detail?.record.header.delivery == 2
            }
            let record = try await sluice.json("show", id)
            #expect(record["attempt"]?.intValue == 1)
            #expect(record["delivery"]?.intValue == 2)
            let again = try #require(record.milliseconds("startedAt"))
            expectPrompt("the restart", took: .milliseconds(again - killed), promised: .seconds(2))
            try await eventually("there are two again") { try await infos().count == 2 }
            try await sluice.lines("cancel", id, "--wait=180s")
            supervisor.send(SIGTERM)
            let end = await supervisor.outcome()
            #expect(end.code == 0, "\(end.errors)")
            #expect(end.errors.contains("end=\"signal 9\""), "\(end.errors)")
            #expect(end.errors.contains("recovered the operations of a dead worker"), "\(end.errors)")
            expectUnlessSlow("both processes have given up their leases", try await infos().isEmpty)
        }

        @Test("Programs of a killed process have ended before their operations run again")
        func programs() async throws {
            let folder = try TemporaryDirectory()
            let file = folder.path("pid")
            let script =
                "if [ -e \(file) ]; then kill -0 $(cat \(file)) && echo overlap || echo alone; "
                + "else sh -c 'echo $$ > \(file).new; mv \(file).new \(file); exec sleep 600'; fi"
            let supervisor = try await start("--allow", "exec")
            let outcome = await (try sluice.start(["enqueue", "--quiet", "--", "sh", "-c", script])).outcome()
            let id = String(outcome.output.dropLast())
            try await eventually("the program runs") {
                FileManager.default.fileExists(atPath: file)
            }
            // The guard is frozen: a supervisor that did not wait for it would start the second run beside the first
            // program.
            let worker = try await process(of: id)
            let first = try await infos().map(\.pid)
            let guardian = try #require(try children(of: worker).first)
            #expect(kill(guardian, SIGSTOP) == 0)
            #expect(kill(worker, SIGKILL) == 0)
            try await eventually("its successor works") {
                try await !Set(infos().map(\.pid)).isSubset(of: first)
            }
            let waiting = try await sluice.json("show", id)
            #expect(waiting["state"]?.stringValue == "executing" && waiting["delivery"]?.intValue == 1, "\(waiting)")
            #expect(kill(guardian, SIGCONT) == 0)
            try await sluice.reaches("finished", id)
            #expect(try await sluice.lines("logs", id).last == "alone")
            #expect(try await sluice.json("show", id)["delivery"]?.intValue == 2)
            supervisor.send(SIGTERM)
            #expect(await supervisor.outcome().code == 0)
        }

        private func children(of pid: Int32) throws -> [Int32] {
            try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap(Int32.init).filter { child in
                let stat = (try? String(contentsOfFile: "/proc/\(child)/stat", encoding: .utf8)) ?? ""
                let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
                return fields.count > 1 && Int32(fields[1]) == pid
            }
        }

        @Test("The first SIGTERM lets all processes drain; the second gives everything back at once")
        func signals() async throws {
            let supervisor = try await start("--drain-timeout", "5m")
            let ids = try await [sluice.enqueue("sleep", "seconds:=600"), sluice.enqueue("sleep", "seconds:=600")]
            for id in ids { try await sluice.begins(id) }
            supervisor.send(SIGTERM)
            try await eventually("both drain") { supervisor.errors.matches(of: /draining, up to/).count == 2 }
            supervisor.send(SIGTERM)
            let end = await supervisor.outcome()
            #expect(end.code == 143, "\(end.errors)")
            for id in ids {
                try await sluice.reaches("ready", id)
                let record = try await sluice.json("show", id)
                #expect(record["attempt"]?.intValue == 0, "\(record)")
                // If the answer reaches an ending process too late, its supervisor recovers the operation.
                #expect((1...2).contains(record["delivery"]?.intValue ?? 0), "\(record)")
            }
        }

        @Test("kill -9 of the supervisor: its processes let running operations end, then end")
        func supervisorKilled() async throws {
            let supervisor = try await start()
            let id = try await sluice.enqueue("sleep", "seconds:=2")
            try await sluice.begins(id)
            let pids = try await infos().map(\.pid)
            supervisor.send(SIGKILL)
            #expect(await supervisor.outcome().code == 137)
            try await sluice.reaches("finished", id)
            #expect(try await sluice.json("show", id)["delivery"]?.intValue == 1)
            try await eventually("both processes have ended") { !pids.contains(where: isAlive) }
            expectUnlessSlow("both processes have given up their leases", try await infos().isEmpty)
        }

        @Test("A burst ends when all processes have ended; --max-operations counts for each process")
        func burst() async throws {
            for _ in 1...6 { _ = try await sluice.enqueue("noop") }
            let outcome = try await sluice("worker", "--processes", "2", "--burst", "-c", "1")
            #expect(outcome.code == 0, "\(outcome.errors)")
            #expect(try await sluice.count(.finished) == 6)
            let supervisor = try await start("--max-operations", "1", processes: 1)
            let ids = try await [sluice.enqueue("noop"), sluice.enqueue("noop")]
            for id in ids { try await sluice.reaches("finished", id) }
            #expect(supervisor.errors.contains("recycling"))
            supervisor.send(SIGTERM)
            #expect(await supervisor.outcome().code == 0)
        }

        @Test("--health is served once for all processes")
        func health() async throws {
            let supervisor = try await start("--health", "0")
            let port = try #require(
                supervisor.errors.firstMatch(of: /http:\/\/127\.0\.0\.1:(\d+)\//).flatMap { Int($0.1) }
            )
            try await eventually("both are ready") {
                let answer = try HTTPProbe.get(port: port, "/ready")
                return answer.status == 200
                    && String(decoding: answer.body, as: UTF8.self).contains("2 of 2 processes are ready")
            }
            supervisor.send(SIGTERM)
            #expect(await supervisor.outcome().code == 0)
        }
    }
}
