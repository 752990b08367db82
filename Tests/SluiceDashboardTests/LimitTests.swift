import HTTPTypes
import Synchronization
import Testing

@testable import SluiceDashboard

@Suite("Limits of requests and logins", .timeLimit(.minutes(60)))
struct LimitTests {
    /// Bodies that work until they are let go.
    private final class Bodies: Sendable {
        let begun = AsyncStream<Int>.makeStream()
        private let gates = Mutex<[Int: CheckedContinuation<Void, Never>]>([:])

        func work(_ number: Int) async {
            await withCheckedContinuation { gate in
                gates.withLock { $0[number] = gate }
                begun.continuation.yield(number)
            }
        }

        func letGo(_ number: Int) { gates.withLock { $0.removeValue(forKey: number) }?.resume() }
    }

    /// Starts requests one after the other. The first works, and the others wait.
    private func start(_ count: Int, _ limit: RequestLimit, _ bodies: Bodies) async -> [Task<Void, any Error>] {
        var tasks: [Task<Void, any Error>] = []
        for number in 0..<count {
            tasks.append(Task { try await limit.run { await bodies.work(number) } })
            await until(limit, working: 1, waiting: number)
        }
        return tasks
    }

    /// Waits until a limit has this load.
    private func until(_ limit: RequestLimit, working: Int, waiting: Int) async {
        while limit.load != (working, waiting) { await Task.yield() }
    }

    @Test("Requests beyond the limit wait for their turn, in order, and one beyond the line is refused")
    func order() async throws {
        let limit = RequestLimit(atOnce: 1, waiting: 2)
        let bodies = Bodies()
        var begun = bodies.begun.stream.makeAsyncIterator()
        let tasks = await start(3, limit, bodies)
        #expect(await begun.next() == 0)
        await #expect(throws: RequestLimit.Busy.self) { try await limit.run {} }
        for number in 0..<3 {
            bodies.letGo(number)
            if number < 2 { #expect(await begun.next() == number + 1) }
        }
        for task in tasks { try await task.value }
        #expect(limit.load == (0, 0))
    }

    @Test("A cancelled request leaves the line, and the others keep their places")
    func cancelled() async throws {
        let limit = RequestLimit(atOnce: 1, waiting: 10)
        let bodies = Bodies()
        var begun = bodies.begun.stream.makeAsyncIterator()
        let tasks = await start(3, limit, bodies)
        #expect(await begun.next() == 0)
        tasks[1].cancel()
        await #expect(throws: CancellationError.self) { try await tasks[1].value }
        bodies.letGo(0)
        #expect(await begun.next() == 2)
        bodies.letGo(2)
        try await tasks[2].value
        #expect(limit.load == (0, 0))
    }

    @Test("A request that fails gives its turn to the next")
    func failing() async throws {
        struct Failure: Error {}
        let limit = RequestLimit(atOnce: 1, waiting: 0)
        for _ in 0..<3 { await #expect(throws: Failure.self) { try await limit.run { throw Failure() } } }
        #expect(limit.load == (0, 0))
    }

    @Test("After too many wrong secrets an address waits for a minute; others do not")
    func logins() {
        let limit = LoginLimit()
        let start = ContinuousClock.now
        for _ in 0..<LoginLimit.most {
            #expect(limit.wait(of: "::1", at: start) == nil)
            limit.failed("::1", at: start)
        }
        #expect(limit.wait(of: "::1", at: start + .seconds(1)) == LoginLimit.span - .seconds(1))
        #expect(limit.wait(of: "10.0.0.1", at: start) == nil)
        #expect(limit.wait(of: "::1", at: start + LoginLimit.span) == nil)
        limit.failed("::1", at: start + LoginLimit.span)
        #expect(limit.wait(of: "::1", at: start + LoginLimit.span) == nil)
    }

    @Test("Guessing is answered with 429 and the time to wait, also for a right token")
    func guessing() async throws {
        let users = try Users(
            parsing: "ann operator sha256:27042f4e6eca7d0b2a7ee4026df2ecfa51d3339e6d122aa099118ecd8563bad9"
        )
        let desk = Desk(users: users)
        // The time to wait is counted from the first wrong secret. With this one, it does not end during the test.
        desk.site.logins.failed("", at: .now + .seconds(3_600))
        for _ in 1..<LoginLimit.most {
            #expect(try await desk("/login", .post, as: nil, form: "token=wrong").status == 401)
        }
        for (path, method, form) in [
            ("/login", .post, "token=right"), ("/login?token=x", .get, nil),
        ] as [(String, HTTPRequest.Method, String?)] {
            let answer = try await desk(path, method, as: nil, form: form)
            #expect(answer.status == 429)
            #expect(answer.headers[.retryAfter] == "60")
        }
        #expect(try await desk("/", headers: [.authorization: "Bearer right"]).status == 429)
        #expect(try await desk("/").status == 200)
    }

    @Test("Requests without a login do not take or wait for the turns of others")
    func withoutLogin() async throws {
        let desk = Desk()
        let limit = desk.site.requests
        let bodies = Bodies()
        let tasks = (0..<Limits.requestsAtOnce).map { number in
            Task { try await limit.run { await bodies.work(number) } }
        }
        await until(limit, working: Limits.requestsAtOnce, waiting: 0)
        #expect(try await desk("/healthz", as: nil).status == 200)
        #expect(try await desk("/login", .post, as: nil, form: "token=x").status == 401)
        var begun = bodies.begun.stream.makeAsyncIterator()
        for _ in tasks { bodies.letGo(try #require(await begun.next())) }
        for task in tasks { try await task.value }
    }

    @Test("A body is received before its request takes a turn")
    func turns() async throws {
        let desk = Desk()
        try await desk.enqueue("Send")
        let limit = desk.site.bodies
        let bodies = Bodies()
        let tasks = (0..<Limits.bodiesAtOnce).map { number in
            Task { try await limit.run { await bodies.work(number) } }
        }
        await until(limit, working: Limits.bodiesAtOnce, waiting: 0)
        let change = Task { try await desk("/queues/pause?queue=mail", .post) }
        await until(limit, working: Limits.bodiesAtOnce, waiting: 1)
        #expect(desk.site.requests.load == (0, 0))
        var begun = bodies.begun.stream.makeAsyncIterator()
        for _ in tasks { bodies.letGo(try #require(await begun.next())) }
        for task in tasks { try await task.value }
        #expect(try await change.value.status == 303)
    }

    @Test("The dashboard is ready while Redis answers, and says so without a login")
    func ready() async throws {
        let desk = Desk()
        #expect(try await desk("/readyz", as: nil).text == "ok\n")
    }
}
