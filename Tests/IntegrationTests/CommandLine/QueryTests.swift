import Operations
import Selectors
import SluiceMonitor
@testable import SluiceOperator
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("A query")
    struct QueryTests {
        private let sluice = CommandLine()

        /// Returns the monitor's answer with all its pages, and its sentences about unknown names.
        private func monitor(_ text: String) async throws -> OperationsReading {
            let snapshot = try await sluice.broker.namespaceSnapshot(executingRows: 0) { .zero }
            let scan = OperationsScan(broker: sluice.broker, snapshot: snapshot, view: PayloadView())
            return try await scan.run(
                OperationsRequest(state: nil, filter: try OperationQuery(parsing: text), pages: 50)
            )
        }

        /// Returns the operations that a change finds.
        private func change(_ text: String) async throws -> [OperationDetail] {
            let query = try await sluice.broker.resolving(try OperationQuery(parsing: text))
            let walk = try await ChangeWalk(
                broker: sluice.broker,
                query: query,
                view: PayloadView(),
                needsRecord: false
            )
            return try await walk.preview(sample: 1_000, of: Set(OperationState.allCases)).sample
        }

        @Test("A query finds the same operations in list, in a change and in the monitor")
        func table() async throws {
            let own = try await sluice.enqueue("noop", "--id", "import-2026", "-q", "mail", "-t", "nightly", "n:=1")
            let first = try await sluice.enqueue("noop", "-q", "mail", "-p", "high", "--limit-key", "acme")
            let other = try await sluice.enqueue("sleep", "seconds:=9", "-q", "video", "--in", "1h")
            let once = try await sluice.enqueue("noop", "-q", "video", "--no-track")
            let group = try await sluice.lines("group", "open", "nightly", "-q", "mail", "-o", "id")[0]
            let member = try await sluice.enqueue("noop", "-q", "video", "--group", "mail/\(group)")
            #expect(try await sluice("cancel", first, "-y").code == 0)
            let all: Set = [own, first, other, once, group, member]
            let table: [(query: String, found: Set<String>)] = [
                ("", all), ("id:\(first)", [first]), ("id:mail/\(first)", [first]), ("id:video/\(first)", []),
                ("id:import-2026", [own]), ("id:mail/import-2026", [own]), ("-id:import-2026", all.subtracting([own])),
                ("id:\(own),\(other)", [own, other]), ("id:\(own),\(other) queue:video", [other]),
                ("id:\(first) state:ready", []), ("id:\(once)", [once]), ("id:\(once),\(own)", [once, own]),
                ("id:\(first.suffix(8))", [first]), ("id:…\(first.suffix(8)),import-2026", [first, own]),
                ("id:\(OperationID())", []), ("group:\(group)", [member]), ("group:mail/\(group)", [member]),
                ("group:\(group.suffix(8))", [member]), ("-group:\(group) queue:video", [other, once]),
                ("group:\(group) id:\(member)", [member]), ("group:\(group) id:\(own)", []),
                ("state:scheduled", [other]), ("state:cancelled,blocked", [first, group]),
                ("queue:v*", [other, once, member]),
                ("queue:mail -state:blocked", [own, first]), ("tag:nightly", [own]), ("args.n:1", [own]),
                ("priority:>normal", [first]), ("limitKey:acme", [first]), ("name:sleep", [other]), ("age:>1h", []),
                ("worker:\(OperationID())", []), ("worker:h*", []),
            ]
            for (query, found) in table {
                #expect(Set(try await sluice.lines("list", "-o", "id", query)) == found, "list \(query)")
                #expect(Set(try await monitor(query).operations.map { "\($0.id)" }) == found, "monitor \(query)")
                #expect(Set(try await change(query).map { "\($0.id)" }) == found, "change \(query)")
            }
        }

        @Test("list and the monitor report an unknown name by the same sentence", arguments: ["group", "worker"])
        func unknown(field: String) async throws {
            _ = try await sluice.enqueue("noop")
            let query = "\(field):nothing-has-this"
            let listed = try await sluice("list", query)
            let sentence = try #require(try await monitor(query).unknown.first)
            #expect(listed.code == 3 && listed.errors.contains(sentence), "\(listed.errors) \(sentence)")
        }

        @Test("A query with an id reads only that record, in each verb that takes a query")
        func lookedUp() async throws {
            let lines = (0..<1_500).map { "{\"name\":\"noop\",\"id\":\"own-\($0)\"}\n" }.joined()
            let batch = ["enqueue", "--batch", "-", "-o", "id"]
            let variables = sluice.environment(for: batch)
            let outcome = await (try Program("sluice", batch, environment: variables, input: lines)).outcome()
            let ids = outcome.output.split(separator: "\n").map(String.init)
            #expect(ids.count == 1_500)
            for reference in [ids[700], "own-700", "default/own-700"] {
                let listed = try await sluice("list", "id:\(reference)", "-o", "id")
                #expect(
                    listed.output == "\(ids[700])\n" && listed.errors.contains("1 match; scanned 1 of 1"),
                    "\(listed)"
                )
            }
            for verb in ["hold", "release", "cancel", "retry", "rm"] {
                let changed = try await sluice(verb, "-w", "id:own-7", "-y")
                #expect(changed.code == 0 && changed.errors.contains("scanned 1 of 1"), "\(verb): \(changed.errors)")
            }
            #expect(try await monitor("id:own-7").operations.isEmpty)
        }
    }
}
