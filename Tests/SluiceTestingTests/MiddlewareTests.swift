import Foundation
import Logging
import Operations
import Synchronization
import SluiceTesting
import Testing

private struct Import: DistributedOperation {
    static let name = "import"
    var file: String

    func main(_ context: OperationContext) async throws -> String {
        if file == "bad.csv" { throw OperationsError(.refused, "no such file") }
        return "\(file) for \(Tenant.current ?? "no tenant")"
    }
}

private struct Parent: DistributedOperation {
    static let name = "parent"

    func main(_ context: OperationContext) async throws -> OperationID {
        try await context.enqueue(Import(file: "child.csv")).id
    }
}

private enum Tenant {
    @TaskLocal static var current: String?
}

/// A user's middleware: the tenant travels in a header.
private struct Tenants: OperationMiddleware {
    func enqueue(_ request: EnqueueRequest, next: @escaping EnqueueRequest.Next) async throws -> [EnqueuedOperation] {
        guard let tenant = Tenant.current else { throw OperationsError(.refused, "no tenant") }
        var request = request
        for index in request.operations.indices { request.operations[index].headers["tenant"] = tenant }
        return try await next(request)
    }

    func execute(_ context: OperationContext, next: @escaping ExecuteNext) async throws {
        var context = context
        context.loggerMetadata["tenant"] = "\(context.headers["tenant"] ?? "")"
        try await Tenant.$current.withValue(context.headers["tenant"]) { [context] in try await next(context) }
    }
}

/// Notes what passes, with a name.
private struct Notes: OperationMiddleware {
    let name: String
    let lines: Lines

    func enqueue(_ request: EnqueueRequest, next: @escaping EnqueueRequest.Next) async throws -> [EnqueuedOperation] {
        lines.add("\(name) \(request.queue) \(request.operations.map(\.name).joined(separator: ","))")
        let answer = try await next(request)
        lines.add("\(name) \(answer.map { $0.isNew ? "new" : "known" }.joined(separator: ","))")
        return answer
    }

    func execute(_ context: OperationContext, next: @escaping ExecuteNext) async throws {
        lines.add("\(name) begins \(context.attempt)")
        do { try await next(context) } catch {
            lines.add("\(name) threw")
            throw error
        }
        lines.add("\(name) ends")
    }
}

private final class Lines: Sendable {
    private let state = Mutex<[String]>([])
    var all: [String] { state.withLock { $0 } }
    func add(_ line: String) { state.withLock { $0.append(line) } }
    func take() -> [String] {
        state.withLock { lines in
            defer { lines = [] }
            return lines
        }
    }
}

@Suite("Middleware", .timeLimit(.minutes(60)))
struct MiddlewareTests {
    @Test("The first is the outermost, around an enqueue and around each attempt; both see the error of a body")
    func order() async throws {
        let lines = Lines()
        let sluice = InMemorySluice(middleware: [Notes(name: "a", lines: lines)]) {
            $0.register(Import.self)
            $0.use(Notes(name: "b", lines: lines))
        }
        try await sluice.client.enqueue([Import(file: "x"), Import(file: "y")], .queue("default"))
        #expect(lines.take() == ["a default import,import", "a new,new"])
        let id = OperationID(key: "one")
        for answer in ["new", "known"] {
            try await sluice.client.enqueue(Import(file: "bad.csv"), .id(id), .attempts(2))
            #expect(lines.take() == ["a default import", "a \(answer)"])
        }
        try await sluice.drainAll()
        let runs = lines.take()
        #expect(runs.filter { $0 == "a begins 1" }.count == 3 && runs.filter { $0 == "a begins 2" }.count == 1)
        #expect(runs.filter { $0 == "a threw" }.count == 2 && runs.filter { $0 == "b threw" }.count == 2)
        #expect(runs.filter { $0 == "a ends" }.count == 2)
    }

    @Test("A tenant reaches the body through a header, also in children; without a tenant, nothing is enqueued")
    func tenant() async throws {
        let sluice = InMemorySluice(middleware: [Tenants()]) {
            $0.register(Import.self)
            $0.register(Parent.self)
            $0.register(OperationDefinition("who") { (_: Int) async in Tenant.current ?? "no tenant" })
        }
        let error = await #expect(throws: OperationsError.self) {
            try await sluice.client.enqueue(Import(file: "a.csv"))
        }
        #expect(error?.message == "no tenant")
        #expect(try await sluice.waiting(Import.self).isEmpty)
        let (first, parent, definition) = try await Tenant.$current.withValue("acme") {
            (
                try await sluice.client.enqueue(Import(file: "a.csv")),
                try await sluice.client.enqueue(Parent()),
                try await sluice.client.enqueue(name: "who", arguments: 1)
            )
        }
        try await sluice.drain()
        #expect(try await first.value(timeout: .zero) == "a.csv for acme")
        #expect(try await definition.result(timeout: .zero) == Array("\"acme\"".utf8))
        let child = try await parent.value(timeout: .zero)
        #expect(try await sluice.client.handle(child, of: Import.self).value(timeout: .zero) == "child.csv for acme")
    }

    @Test("Middleware decides the outcome: its error fails the run, and a run without next has the result null")
    func outcome() async throws {
        struct Gate: OperationMiddleware {
            func execute(_ context: OperationContext, next: @escaping ExecuteNext) async throws {
                if context.tags == ["skip"] { return }
                try await next(context)
                if context.tags == ["rollback"] { throw OperationsError(.refused, "the commit failed") }
            }
        }
        let sluice = InMemorySluice(middleware: [Gate()]) { $0.register(Import.self) }
        let skipped = try await sluice.client.enqueue(name: "import", arguments: ["file": "a"], .tags("skip"))
        let rolledBack = try await sluice.client.enqueue(Import(file: "b"), .tags("rollback"), .attempts(1))
        try await sluice.drainAll()
        #expect(try await skipped.result().isEmpty)
        let error = await #expect(throws: OperationsError.self) { try await rolledBack.value }
        #expect(error?.code == .dead && error?.failure?.message == "the commit failed")
    }

    @Test("A snooze and the end of a slice stay what they are, even if a transaction wraps what the body throws")
    func wrapped() async throws {
        struct Wrapped: Error { let cause: any Error }
        struct Transaction: OperationMiddleware {
            func execute(_ context: OperationContext, next: @escaping ExecuteNext) async throws {
                try await transaction { try await next(context) }
            }

            /// Like the transaction of a database library, which keeps its closure.
            private func transaction(_ body: @escaping @Sendable () async throws -> Void) async throws {
                do { try await body() } catch { throw Wrapped(cause: error) }
            }
        }
        let runs = Lines()
        let sluice = InMemorySluice(middleware: [Transaction()]) {
            $0.register(Import.self) { _, context in
                runs.add("attempt \(context.attempt)")
                if runs.all.count == 1 { throw Snooze(for: .seconds(30)) }
                return "done"
            }
        }
        let handle = try await sluice.client.enqueue(Import(file: "a"))
        try await sluice.drainAll()
        #expect(try await handle.value(timeout: .zero) == "done")
        #expect(runs.all == ["attempt 1", "attempt 1"])
    }

    @Test("Middleware of a registration is around runs and around what bodies enqueue, not around other enqueues")
    func registered() async throws {
        let lines = Lines()
        let sluice = InMemorySluice {
            $0.register(Import.self)
            $0.register(Parent.self)
            $0.use(Notes(name: "own", lines: lines))
        }
        try await sluice.client.enqueue(Parent())
        #expect(lines.take().isEmpty)
        try await sluice.drain()
        #expect(lines.take().contains("own default import"))
    }

    @Test("A change that middleware must not make throws an error that says so, and nothing is enqueued")
    func wrong() async throws {
        struct Drop: OperationMiddleware {
            func enqueue(_ request: EnqueueRequest, next: @escaping EnqueueRequest.Next) async throws
                -> [EnqueuedOperation]
            {
                var request = request
                request.operations.removeLast()
                return try await next(request)
            }
        }
        struct Forget: OperationMiddleware {
            func enqueue(_ request: EnqueueRequest, next: @escaping EnqueueRequest.Next) async throws
                -> [EnqueuedOperation]
            {
                []
            }
        }
        struct Fill: OperationMiddleware {
            func enqueue(_ request: EnqueueRequest, next: @escaping EnqueueRequest.Next) async throws
                -> [EnqueuedOperation]
            {
                var request = request
                request.operations[0].headers["x"] = String(repeating: "x", count: 5000)
                return try await next(request)
            }
        }
        for (middleware, word) in [
            (Drop(), "1 of 2 operations"), (Forget(), "without calling next"), (Fill(), "5000 bytes"),
        ]
            as [(any OperationMiddleware, String)]
        {
            let sluice = InMemorySluice(middleware: [middleware]) { $0.register(Import.self) }
            let error = await #expect(throws: OperationsError.self) {
                try await sluice.client.enqueue([Import(file: "a"), Import(file: "b")])
            }
            #expect(error?.code == .invalidOption && error?.message.contains(word) == true, "\(error?.message ?? "")")
            #expect(try await sluice.waiting(Import.self).isEmpty)
        }
    }

    @Test("The operation of a schedule passes middleware in the worker; a refusal skips the instant")
    func schedule() async throws {
        struct Stamp: OperationMiddleware {
            func enqueue(_ request: EnqueueRequest, next: @escaping EnqueueRequest.Next) async throws
                -> [EnqueuedOperation]
            {
                var request = request
                if request.operations[0].schedule == "refused" { throw OperationsError(.refused, "not this one") }
                request.operations[0].headers["from"] = request.operations[0].schedule
                return try await next(request)
            }
        }
        let sluice = InMemorySluice(middleware: [Stamp()]) {
            $0.register(.blocking("report") { (_: Int) in LocalOperation.current?.context?.headers["from"] ?? "" })
        }
        for name in ["hourly", "refused"] {
            try await sluice.client.schedules.set(name, .every(.seconds(3600)), name: "report", arguments: 1)
        }
        sluice.clock.advance(by: .seconds(3601))
        try await sluice.drain()
        var headers: [[String: String]] = []
        for try await done in sluice.client.operations(.finished) { headers.append(done.headers) }
        #expect(headers == [["from": "hourly"]])
    }
}
