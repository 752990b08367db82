import Foundation
import Operations
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("Changes of many operations")
    struct BulkTests {
        private let sluice = CommandLine()

        private func enqueue(_ count: Int, _ fields: String = #""tags":["y"]"#, queue: String = "default") async throws
        {
            let folder = try TemporaryDirectory()
            let line = #"{"name":"noop","queue":"\#(queue)",\#(fields)}"#
            let path = try folder.file("noops.jsonl", Array(repeating: line, count: count).joined(separator: "\n"))
            try await sluice.lines("enqueue", "--batch", path, "--quiet")
        }

        @Test("A change covers all matching operations over any number of pages, and refuses --scan-limit")
        func limits() async throws {
            try await enqueue(1_300)
            try await enqueue(700, #""tags":["y"],"in":"1h""#, queue: "later")
            #expect(try await sluice("cancel", "-t", "y", "-y", "--scan-limit", "450").code == 64)
            let all = try await sluice("cancel", "-t", "y", "-y")
            #expect(all.code == 0, "\(all.errors)")
            let summary = "2,000 match; 2,000 cancelled; scanned 2,000 of 2,000"
            #expect(all.errors.contains(summary), "\(all.errors)")
            #expect(try await sluice.count(.cancelled) == 2_000)
            let retried = try await sluice("retry", "-t", "y", "-y", "-o", "json")
            #expect(retried.code == 0, "\(retried.errors)")
            #expect(try JSONValue(parsing: retried.output)["results"]?.arrayValue?.count == 2_000)
            #expect(try await sluice.count(.ready) == 2_000)
            let none = try await sluice("rm", "-t", "z", "-y", "-o", "json")
            #expect(try JSONValue(parsing: none.output)["results"]?.arrayValue?.isEmpty == true)
            #expect(try await sluice("rm", "-t", "y", "-y").code == 0)
            #expect(try await sluice.count(.ready) == 0)
        }

        @Test("Retried and rerun operations start evenly over the time of --spread", arguments: ["retry", "rerun"])
        func spread(verb: String) async throws {
            try await enqueue(600)
            #expect(try await sluice("cancel", "-t", "y", "-y").code == 0)
            let done = try await sluice(verb, "-w", "state:cancelled tag:y", "--spread", "600h", "-y")
            #expect(done.code == 0, "\(done.errors)")
            #expect(try await sluice.count(.ready) == 1)
            let rows =
                try await sluice.json("list", "state:scheduled", "--limit", "1000")["operations"]?.arrayValue ?? []
            let times = rows.compactMap { $0["dueAt"]?.stringValue }.sorted()
            // One operation an hour, and each has another hour: calls are less than an hour apart.
            #expect(Set(times.map { $0.prefix(13) }).count == 599)
            #expect(try await sluice("retry", "-t", "y", "--spread", "0s", "-y").code == 64)
        }

        @Test("Operations that ended at one instant are all removed, although pages begin behind removed ones")
        func sameInstant() async throws {
            try await enqueue(1_100)
            #expect(try await sluice("cancel", "-t", "y", "-y").code == 0)
            #expect(try await sluice.lines("rm", "-w", "state:cancelled tag:y", "-y", "-o", "id").count == 1_100)
            #expect(try await sluice.count(.cancelled) == 0)
        }

        @Test("Operations removed between two pages hide none of the rest", arguments: ["scheduled", "ready"])
        func walk(state: String) async throws {
            try await enqueue(300, state == "scheduled" ? #""in":"1h""# : #""tags":["y"]"#)
            let all = Set(try await sluice.lines("list", "-o", "id"))
            let first = try await sluice.json("list", "--limit", "100")
            let seen = (first["operations"]?.arrayValue ?? []).compactMap { $0["id"]?.stringValue }
            // The last row of the page is among them.
            let gone = seen.enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
            #expect(await (try sluice.start(["rm"] + gone + ["-y"])).outcome().code == 0)
            var rest: [String] = []
            var cursor = first["cursor"]?.stringValue
            while let place = cursor {
                let page = try await sluice.json("list", "--limit", "70", "--cursor", place)
                rest += (page["operations"]?.arrayValue ?? []).compactMap { $0["id"]?.stringValue }
                cursor = page["cursor"]?.stringValue
            }
            #expect(seen.count + rest.count == 300)
            #expect(Set(seen + rest) == all)
        }

        @Test(
            "list prints everything into a pipe, so cancel - covers all; the last line reports what --scan-limit left out"
        )
        func piped() async throws {
            try await enqueue(730)
            let ids = try await sluice.lines("list", "tag:y", "-o", "id")
            #expect(Set(ids).count == 730)
            #expect(try await sluice.json("list")["operations"]?.arrayValue?.count == 730)
            #expect(try await sluice.lines("list", "-o", "csv").count == 731)
            #expect(try await sluice.lines("list").count == 731)
            #expect(try await sluice.lines("list", "-o", "jsonl").count == 730)
            let limited = try await sluice("list", "-t", "y", "--scan-limit", "300", "-o", "id")
            #expect(limited.code == 0 && limited.output.split(separator: "\n").count == 300)
            let last = try #require(limited.errors.split(separator: "\n").last)
            #expect(last.hasPrefix("300 match; scanned 300 of 730; more: --scan-limit, or --cursor"), "\(last)")
            let page = try await sluice.json("list", "--limit", "700")
            let cursor = try #require(page["cursor"]?.stringValue)
            #expect(try await sluice.lines("list", "--cursor", cursor, "-o", "id").count == 30)
            #expect(try await sluice.json("list", "--limit", "730")["cursor"]?.isNull == true)

            let waited = try await sluice("wait", "-t", "y", "--scan-limit", "300", "--timeout", "10ms")
            #expect(waited.code == 4)
            #expect(waited.errors.split(separator: "\n").last?.hasPrefix("300 operations were examined") == true)

            let arguments = ["cancel", "-"]
            let environment = sluice.environment(for: arguments)
            // More bytes than the arguments of an operation may have
            let input = Array(repeating: ids.joined(separator: "\n"), count: 60).joined(separator: "\n")
            let outcome = await (try Program("sluice", arguments, environment: environment, input: input)).outcome()
            #expect(outcome.code == 0, "\(outcome.errors)")
            #expect(outcome.output.split(separator: "\n").count == 730)
            #expect(try await sluice.count(.cancelled) == 730)
        }

        @Test("Many refusals are counted by kind with a few ids, instead of one line each")
        func refused() async throws {
            try await enqueue(400)
            #expect(await (try sluice.start(["worker", "--burst"])).outcome().code == 0)
            let open = try await sluice.enqueue("noop", "-t", "y")
            let outcome = try await sluice("cancel", "-w", "tag:y state:ready,finished", "-y", "-o", "id")
            #expect(outcome.code == 6)
            #expect(outcome.output == open + "\n")
            #expect(outcome.errors.contains("401 match; 1 cancelled, 400 already finished"), "\(outcome.errors)")
            #expect(outcome.errors.contains("400 of 401 not cancelled"), "\(outcome.errors)")
            #expect(outcome.errors.split(separator: "\n").count <= 5, "\(outcome.errors)")
            let ids = try await sluice.lines("list", "state:finished", "-o", "id")
            let named = await (try sluice.start(["cancel"] + ids)).outcome()
            #expect(named.code == 5)
            #expect(named.errors.contains("400 of 400 not cancelled"), "\(named.errors)")
            #expect(named.errors.split(separator: "\n").count <= 5, "\(named.errors)")
        }

        @Test(
            "A cancel covers all operations that existed when it began, although workers move them, and no later ones"
        )
        func moving() async throws {
            let folder = try TemporaryDirectory()
            let name = #""tags":["y"],"args":{"message":"no"},"attempts":10"#
            let lines = (0..<900).map { index in
                #"{"name":"\#(index % 3 == 0 ? "fail" : "noop")",\#(name)\#(index % 2 == 0 ? #","in":"1s""# : "")}"#
            }
            let path = try folder.file("moving.jsonl", lines.joined(separator: "\n"))
            try await sluice.lines("enqueue", "--batch", path, "--quiet")
            let worker = try sluice.start(["worker", "-c", "20"])
            try await eventually("they move") { try await sluice.count(.retrying) > 5 }
            let outcome = try await sluice("cancel", "-t", "y", "-y", "--wait=180s", "-o", "id")
            #expect([0, 6].contains(outcome.code), "\(outcome.errors)")
            for state in OperationState.allCases where !state.isTerminal {
                #expect(try await sluice.count(state) == 0, "\(state)")
            }
            #expect(Set(outcome.output.split(separator: "\n")).count == outcome.output.split(separator: "\n").count)
            let later = try await sluice.enqueue("noop", "-t", "y")
            try await sluice.reaches("finished", later)
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        @Test(
            "A signal during a cancel ends it with 130 or 143, and it reports what was done",
            arguments: [(SIGINT, Int32(130)), (SIGTERM, Int32(143))]
        )
        func interrupted(signal: Int32, code: Int32) async throws {
            let sleeper = try await sluice.enqueue("sleep", "seconds:=600", "-t", "y")
            try await enqueue(30)
            let worker = try await sluice.worker("-c", "1")
            try await sluice.reaches("executing", sleeper)
            // The worker is frozen, so the cancel waits for it.
            worker.send(SIGSTOP)
            let cancel = try sluice.start(["cancel", "-t", "y", "-y", "--wait=300s"])
            try await eventually("the waiting ones are cancelled") { try await sluice.count(.cancelled) == 30 }
            try await eventually("the running one is asked to stop") { try await sluice.detail(sleeper)?.cancel != nil }
            cancel.send(signal)
            let outcome = await cancel.outcome()
            #expect(outcome.code == code, "\(outcome.errors)")
            #expect(outcome.errors.contains("until then: 30 cancelled, 1 cancelling"), "\(outcome.errors)")
            worker.send(SIGCONT)
            try await sluice.reaches("cancelled", sleeper)
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        @Test("cancel --wait waits for all running operations of a queue, over any number of pages")
        func many() async throws {
            let folder = try TemporaryDirectory()
            let lines = Array(repeating: #"{"name":"sleep","args":{"seconds":600}}"#, count: 230)
            try await sluice.lines(
                "enqueue",
                "--batch",
                try folder.file("sleepers.jsonl", lines.joined(separator: "\n"))
            )
            let worker = try await sluice.worker("-c", "230")
            try await eventually("all run") { try await sluice.count(.executing) == 230 }
            let last = try #require(try await sluice.lines("list", "state:executing", "-o", "id").last)
            #expect(try await sluice.lines("show", String(last.suffix(10)), "-o", "id") == [last])
            #expect(try await sluice("cancel", "--queue", "default", "-y", "--wait=180s").code == 0)
            #expect(try await sluice.count(.executing) == 0)
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }
    }
}
