import Operations
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("sluice errors")
    struct ErrorsTests {
        private let sluice = CommandLine()

        @Test("errors groups dead and retrying operations by last error, without numbers, ids and quoted texts")
        func groups() async throws {
            let worker = try await sluice.worker()
            var ids: [String] = []
            for message in ["status 503 of \"a b\"", "status 503 of \"c/d\"", "no such user"] {
                ids.append(try await sluice.enqueue("fail", "message=\(message)", "--attempts", "1", "-t", "x"))
            }
            for id in ids { try await sluice.reaches("dead", id) }
            worker.send(15)
            #expect(await worker.outcome().code == 0)

            let errors = try await sluice.json("errors")
            #expect(errors["operations"]?.intValue == 3 && errors["scanned"]?.intValue == 3)
            let groups = try #require(errors["groups"]?.arrayValue)
            #expect(groups.map { $0["count"]?.intValue } == [2, 1])
            let first = try #require(groups.first)
            #expect(first["signature"]?.stringValue?.hasSuffix("status 503 of \"…\"") == true, "\(first)")
            #expect(first["dead"]?.intValue == 2 && first["names"]?[0]?.stringValue == "fail")
            #expect(first["sample"]?.stringValue == ids[1] || first["sample"]?.stringValue == ids[0])
            let (from, to) = (first.milliseconds("first") ?? 0, first.milliseconds("last") ?? 0)
            #expect(from > 0 && from <= to)

            let one = try await sluice("errors", "error:user", "-o", "id")
            #expect(one.output == ids[2] + "\n")
            #expect(one.errors.contains("1 operation with 1 error; scanned 3 of 3"), "\(one.errors)")
            #expect(try await sluice.lines("errors", "-t", "none") == [])
            #expect(try await sluice.lines("errors", "-o", "csv").count == 3)
            #expect(try await sluice.lines("errors", "--limit", "1", "-o", "jsonl").count == 1)
            #expect(try await sluice.lines("retry", "-w", "error:status", "-y", "-o", "id").count == 2)
            #expect(try await sluice.state(ids[2]) == "dead")
        }
    }
}
