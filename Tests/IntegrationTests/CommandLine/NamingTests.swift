import Foundation
import Operations
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("Names of workers and operations")
    struct NamingTests {
        private let sluice = CommandLine()

        private func worker(_ name: String) async throws -> (program: Program, id: String) {
            let before = Set(try await workers())
            let program = try sluice.start(["worker", "-c", "1", "--name", name])
            try await eventually("\(name) is known") { try await workers().count > before.count }
            return (program, try #require(try await workers().first { !before.contains($0) }))
        }

        private func workers() async throws -> [String] {
            try await sluice.snapshots().flatMap(\.workers).map(\.worker)
        }

        @Test(
            "worker: in a query, and workers show, accept a name, an id and its end; an ambiguous one is refused"
        )
        func workerNames() async throws {
            let operations = [
                try await sluice.enqueue("sleep", "seconds:=600"), try await sluice.enqueue("sleep", "seconds:=600"),
            ]
            let (first, second) = (try await worker("host-a1"), try await worker("host-b2"))
            for id in operations { try await sluice.reaches("executing", id) }
            let wanted = try #require(
                try await operations.asyncFilter { try await sluice.detail($0)?.worker == second.id }.first
            )
            let end = String(second.id.suffix(6))
            for name in ["host-b2", second.id, second.id.lowercased(), end, "…" + end, "~" + end, "host-b*"] {
                #expect(try await sluice.lines("list", "worker:\(name)", "-o", "id") == [wanted], "\(name)")
            }
            for name in ["host-b2", second.id, "…" + end] {
                #expect(try await sluice.lines("workers", "show", name, "-o", "id") == [second.id], "\(name)")
            }
            let unknown = try await sluice("list", "worker:host-b3")
            #expect(unknown.code == 3 && unknown.errors.contains("did you mean \"host-"), "\(unknown.errors)")

            let twin = try await worker("host-b2")
            for arguments in [
                ["list", "worker:host-b2"], ["cancel", "-y", "-w", "worker:host-b2"], ["workers", "show", "host-b2"],
            ] {
                let refused = await (try sluice.start(arguments)).outcome()
                #expect(refused.code == 64, "\(arguments)")
                for id in [second.id, twin.id] { #expect(refused.errors.contains(id), "\(refused.errors)") }
            }
            #expect(try await sluice("cancel", "-y", "-w", "worker:…\(end)", "--wait=180s").code == 0)
            #expect(try await sluice.state(wanted) == "cancelled")
            #expect(try await sluice("cancel", "--all", "-y", "--wait=180s").code == 0)
            for program in [first.program, second.program, twin.program] { program.send(SIGTERM) }
            for program in [first.program, second.program, twin.program] { #expect(await program.outcome().code == 0) }
        }

        @Test(
            "Every verb finds an operation by its --id",
            arguments: ["import-2026", "imp/2026", "2026ABCD"]
        )
        func userIDs(name: String) async throws {
            let id = try await sluice.enqueue("--id", name, "--", "echo", "hello")
            #expect(id == OperationID(key: name).description)
            #expect(try await sluice.json("show", name)["id"]?.stringValue == id)
            #expect(try await sluice.lines("cancel", name, "-o", "id") == [id])
            #expect(try await sluice.lines("retry", name, "-o", "id") == [id])
            #expect(await (try sluice.start(["worker", "--burst", "--allow", "exec"])).outcome().code == 0)
            #expect(try await sluice.lines("wait", name, "-o", "id") == [id])
            #expect(try await sluice.lines("logs", name) == ["hello"])
            #expect(try await sluice("result", name).code == 0)
            #expect(try await sluice.lines("show", "default/\(name)", "-o", "id") == [id])
            #expect(try await sluice.lines("show", String(id.suffix(8)), "-o", "id") == [id])
            #expect(try await sluice.lines("rm", name, "-o", "id") == [id])
            for verb in ["show", "cancel", "wait", "logs", "rm", "retry", "result"] {
                let outcome = try await sluice(verb, name)
                #expect(outcome.code == 3 && outcome.errors.contains(name.uppercased().suffix(4)), "\(outcome.errors)")
            }
        }

        @Test("An --id in several queues is refused with all of them named, until a queue is given")
        func severalQueues() async throws {
            for queue in ["mail", "video"] { _ = try await sluice.enqueue("noop", "-q", queue, "--id", "import-2026") }
            let id = OperationID(key: "import-2026").description
            for name in ["import-2026", id] {
                let refused = try await sluice("cancel", name)
                #expect(refused.code == 64)
                for queue in ["mail", "video"] {
                    #expect(refused.errors.contains("\(queue)/\(id)"), "\(refused.errors)")
                }
            }
            #expect(try await sluice("cancel", "import-2026", "--queue", "mail").code == 0)
            #expect(try await sluice.json("show", "video/import-2026")["state"]?.stringValue == "ready")
            #expect(try await sluice.json("show", "mail/import-2026")["state"]?.stringValue == "cancelled")
        }

        @Test("A cancel by --id reaches an untracked operation while it waits and while it runs")
        func untracked() async throws {
            _ = try await sluice.enqueue("noop", "--id", "nightly-1", "--no-track")
            _ = try await sluice.enqueue("sleep", "seconds:=600", "--id", "nightly-2", "--no-track")
            #expect(try await sluice("cancel", "nightly-1", "--queue", "default").code == 0)
            #expect(try await sluice("cancel", "7QK2MX", "--queue", "default").code == 3)
            let worker = try await sluice.worker()
            try await eventually("it runs") { try await sluice.count(.executing) == 1 }
            #expect(try await sluice("cancel", "nightly-2", "--wait=180s").code == 0)
            #expect(try await sluice.state(OperationID(key: "nightly-1").description) == "cancelled")
            #expect(try await sluice.state(OperationID(key: "nightly-2").description) == "cancelled")
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }
    }
}

extension Sequence {
    fileprivate func asyncFilter(_ isIncluded: (Element) async throws -> Bool) async rethrows -> [Element] {
        var kept: [Element] = []
        for element in self where try await isIncluded(element) { kept.append(element) }
        return kept
    }
}
