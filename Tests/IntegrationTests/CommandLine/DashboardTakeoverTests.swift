import Foundation
import Operations
import struct SluiceOperator.ChangeJobProgress
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("A change of many operations and a killed dashboard")
    struct DashboardTakeoverTests {
        private static let token = String(repeating: "k", count: 40)
        private static let number = 5_000

        /// Starts a dashboard where `ann` is an admin, and returns its port.
        private func serve(
            _ sluice: CommandLine,
            _ folder: TemporaryDirectory,
            environment: [String: String] = [:]
        ) async throws -> (Program, port: Int) {
            let hash = try run("sh", ["-c", "printf %s \(Self.token) | sha256sum"]).prefix(64)
            try "ann admin sha256:\(hash)\n".write(toFile: folder.path("users"), atomically: true, encoding: .utf8)
            let arguments = ["dashboard", "--bind", "127.0.0.1:0", "--users", folder.path("users")]
            let program = try sluice.start(arguments, environment: environment)
            try await eventually("the dashboard listens") {
                (program.output + program.errors).contains("http://127.0.0.1:")
            }
            let printed = (program.output + program.errors).firstMatch(of: /http:\/\/127\.0\.0\.1:(\d+)/)
            return (program, try #require(printed.flatMap { Int($0.1) }))
        }

        private func send(_ port: Int, _ path: String, form: String? = nil) throws -> HTTPProbe.Answer {
            var headers = ["Authorization": "Bearer \(Self.token)", "Sec-Fetch-Site": "same-origin"]
            guard let form else { return try HTTPProbe.page { try HTTPProbe.get(port: port, path, headers: headers) } }
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            return try HTTPProbe.get(port: port, path, method: "POST", headers: headers, body: form)
        }

        /// Enqueues and cancels operations. The ids of the first half begin with `late`. A walk finds these last:
        /// they were cancelled first.
        private func cancelled(_ sluice: CommandLine, late: String) async throws {
            let operations = try (0..<Self.number).map { index in
                let text = (index < Self.number / 2 ? late : "01B") + String(1_000_000 + index)
                let id = text + String(repeating: "0", count: OperationID.characterCount - text.count)
                return NewOperation(
                    id: try #require(OperationID(id)),
                    envelope: OperationEnvelope(name: "noop", arguments: Array("{}".utf8)).encoded()
                )
            }
            for start in stride(from: 0, to: Self.number, by: 500) {
                _ = try await sluice.broker.enqueue(Array(operations[start..<start + 500]), queue: "mail")
            }
            let request = CancelRequest(reason: "", by: "tester")
            for start in stride(from: 0, to: Self.number, by: 500) {
                let ids = operations[start..<start + 500].map(\.id)
                _ = try await sluice.broker.cancel(ids, request: request, queue: "mail")
            }
        }

        @Test(
            "Another dashboard goes on with the change of a killed one: each operation is retried once, none refused",
            .enabled(if: TestRedis.isSingle, "the proxy stands before one server")
        )
        func takeover() async throws {
            let sluice = CommandLine()
            let folder = try TemporaryDirectory()
            try await cancelled(sluice, late: "01A")
            let proxy = try await FaultProxy.start(to: sluice.endpoint)
            defer { proxy.stop() }
            let place = ["SLUICE_REDIS_URL": proxy.endpoint.description]
            let (first, port) = try await serve(sluice, folder, environment: place)
            let plan = try send(port, "/changes/new?action=retry&q=queue:mail+state:cancelled&scope=all")
            let page = String(decoding: plan.body, as: UTF8.self)
            #expect(page.contains("Retry 5,000 operations?"), "\(page)")
            let fields = page.matches(of: /<input type="hidden" name="([a-z]+)" value="([^"]*)">/)
                .map { "\($0.1)=\($0.2.replacing(" ", with: "+"))" }
            // Redis retries the first operations of the late half, and the dashboard never gets the answer, nor that to
            // a later request for them: however slow this test is, the change cannot end here.
            proxy.set(.loseReplies(count: .max, marker: "\r\n01A"))
            let begun = try send(port, "/changes", form: fields.joined(separator: "&") + "&typed=5000&reason=books")
            let location = try #require(begun.fields["location"])
            let id = try #require(OperationID(String(location.suffix(26))))
            try await eventually("a step is done, and the answer to another one is lost") {
                let change = try #require(try await sluice.broker.changes(id).changes.first)
                let done = ChangeJobProgress(change.progress)?.done ?? 0
                Seen.note("\(done) done, \(proxy.lostReplies) lost")
                return done > 0 && proxy.lostReplies > 0
            }
            first.send(SIGKILL)
            _ = await first.outcome()
            let half = try #require(try await sluice.broker.changes(id).changes.first)
            #expect(!half.isEnded && (ChangeJobProgress(half.progress)?.done ?? 0) < Self.number)

            let (second, newPort) = try await serve(sluice, folder)
            try await eventually("the change has ended") {
                let change = try #require(try await sluice.broker.changes(id).changes.first)
                Seen.note("\(change.fence) \(ChangeJobProgress(change.progress)?.done ?? 0)")
                return change.isEnded
            }
            let change = try #require(try await sluice.broker.changes(id).changes.first)
            let progress = try #require(ChangeJobProgress(change.progress))
            #expect(progress.end == .complete && progress.done == Self.number && progress.refused == 0, "\(progress)")
            #expect(change.fence > 1)
            let text = String(decoding: try send(newPort, location).body, as: UTF8.self)
            #expect(text.contains("taken over") && text.contains("5,000 of 5,000 retried, 0 refused"), "\(text)")
            let queue = try await sluice.broker.snapshot(queue: "mail", executingRows: 0)
            #expect(queue.counts[.ready] == Self.number && queue.counts[.cancelled] == 0, "\(queue.counts)")
            let events = try await sluice("events", "--since", "1h", "--no-follow", "--changes", "-o", "jsonl").output
            let changes = try events.split(separator: "\n").map { try JSONValue(parsing: String($0))["change"] }
            func counts(_ verb: String) -> [Int] {
                changes.filter { $0?["verb"]?.stringValue == verb }.compactMap { $0?["count"]?.intValue }
            }
            // Each retry is an event: twice the same operation would be counted twice.
            #expect(counts("retry").reduce(0, +) == Self.number)
            #expect(counts("startChange") == [Self.number] && counts("endChange") == [Self.number], "\(events)")
            second.send(SIGTERM)
            #expect(await second.outcome().code == 0)
        }
    }
}
