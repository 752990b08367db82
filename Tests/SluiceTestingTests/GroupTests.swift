import Operations
import Sluice
import SluiceTesting
import Synchronization
import Testing

/// Enqueues children down to this depth. Fails at a number below zero while the switch is on.
private struct Crawl: DistributedOperation {
    static let name = "crawl"
    static let retryPolicy = RetryPolicy(attempts: 1)
    var depth = 0
    var fails = false

    func main(_ context: OperationContext) async throws {
        if fails, Switch.isOn.withLock({ $0 }) { throw OperationsError(.refused, "the page is away") }
        guard depth > 0 else { return }
        for group in try await context.groups() {
            for _ in 0..<2 { try await context.enqueue(Crawl(depth: depth - 1), .group(group), .queue("inner")) }
        }
    }
}

private struct Report: DistributedOperation {
    static let name = "report"
    let text: String

    func main(_ context: OperationContext) async throws -> String { text }
}

/// Enqueues two operations for its completion and one at once, and fails the first time.
private struct Parent: DistributedOperation {
    static let name = "parent"
    static let retryPolicy = RetryPolicy(attempts: 2)
    var failures = 0
    var childQueue = "default"

    func main(_ context: OperationContext) async throws {
        let children = try await context.enqueue(
            [Report(text: "a\(context.attempt)"), Report(text: "b\(context.attempt)")],
            .withCompletion,
            .queue(childQueue)
        )
        try await context.enqueue(Report(text: "at once"))
        for child in children { #expect(try await child.state() == .blocked) }
        if context.attempt <= failures { throw OperationsError(.refused, "not yet") }
    }
}

private enum Switch { static let isOn = Mutex(false) }

@Suite("Groups and children in the testing kit", .serialized, .timeLimit(.minutes(60)))
struct GroupTests {
    private let sluice = InMemorySluice(queues: .all) {
        $0.register(Crawl.self)
        $0.register(Report.self)
        $0.register(Parent.self)
    }
    private var client: SluiceClient { sluice.client }

    @Test("A group ends when all its members have ended, including those added by members in another queue")
    func grows() async throws {
        let group = try await client.withGroup(
            "crawl",
            onSuccess: Report(text: "done"),
            onEnd: Report(text: "over"),
            onFirstDeath: Report(text: "dead")
        ) { group in
            group.add(Crawl(depth: 3))
            group.add([Crawl(), Crawl()], .queue("inner"))
            try await group.enqueue(Crawl(), .priority(.high))
        }
        let before = try await group.progress()
        #expect(before.total == 4 && before.ended == 0 && !before.isOpen && before.state == .blocked)
        try await sluice.drain()
        let progress = try await group.ended()
        #expect(progress.state == .finished && progress.total == 18 && progress.finished == 18, "\(progress)")
        #expect(progress.fraction == 1)
        var changes: [GroupProgress] = []
        for try await change in group.progressChanges { changes.append(change) }
        #expect(changes == [progress])
        let reports = try await finished(Report.name)
        #expect(reports == ["done", "over"])
    }

    @Test("A dead member can be retried for success, and starts the other callbacks")
    func fails() async throws {
        Switch.isOn.withLock { $0 = true }
        defer { Switch.isOn.withLock { $0 = false } }
        var member: OperationReference?
        let group = try await client.withGroup(
            "crawl",
            onSuccess: Report(text: "done"),
            onEnd: Report(text: "over"),
            onFirstDeath: Report(text: "dead")
        ) { group in
            member = try await group.enqueue(Crawl(fails: true)).reference
            group.add(Crawl())
        }
        try await sluice.drain()
        #expect(try await group.ended().state == .dead)
        #expect(try await group.progress().failed == 1)
        #expect(try await finished(Report.name) == ["dead", "over"])
        Switch.isOn.withLock { $0 = false }
        let id = try #require(member?.id)
        #expect(try await client.retry([id]) == [.done])
        try await sluice.drain()
        #expect(try await group.ended().state == .finished)
        #expect(try await finished(Report.name) == ["dead", "done", "over"])
    }

    @Test("A body that throws cancels the group with its members, and a cancelled group accepts no more")
    func throwing() async throws {
        var group: OperationGroup?
        var members: [OperationHandle<Crawl>] = []
        await #expect(throws: OperationsError.self) {
            try await client.withGroup("crawl", onSuccess: Report(text: "done")) { open in
                group = open.group
                members.append(try await open.enqueue(Crawl()))
                members.append(try await open.enqueue(Crawl(), .queue("inner")))
                throw OperationsError(.refused, "no")
            }
        }
        for member in members { #expect(try await member.state() == .cancelled) }
        try await sluice.drain()
        let closed = try #require(group)
        #expect(try await closed.progress().state == .cancelled)
        let error = await #expect(throws: OperationsError.self) { try await client.enqueue(Crawl(), .group(closed)) }
        #expect(error?.message.contains("takes no more members") == true)
        await #expect(throws: OperationsError.self) {
            try await client.enqueue(Crawl(), .group(closed), .queue("inner"))
        }
        #expect(try await sluice.waiting(Crawl.self, queue: "inner").isEmpty)
    }

    @Test("Groups wait for earlier operations and for groups, but a dependent of a group cannot be its member")
    func nested() async throws {
        let outer = try await client.openGroup("outer")
        let inner = try await client.openGroup("inner", .group(outer), .queue("inner"))
        let early = try await client.enqueue(Crawl(), .queue("other")).reference
        try await inner.add(early)
        let last = try await client.enqueue(Report(text: "last"), .after(outer))
        await #expect(throws: OperationsError.self) { try await outer.add(last.reference) }
        try await inner.close()
        try await outer.close()
        #expect(try await outer.progress().total == 1)
        try await sluice.drain()
        #expect(try await last.value == "last")
        #expect(try await inner.progress().state == .finished)
    }

    @Test("A joined operation of another queue that is cancelled and removed at once does not hold its group up")
    func joinedAndRemoved() async throws {
        let group = try await client.openGroup("joined")
        let holder = try await client.enqueue(Crawl(), .queue("inner"), .unique("crawl"))
        let joined = try await client.enqueue(Crawl(), .queue("inner"), .unique("crawl"), .group(group))
        #expect(joined.id == holder.id && !joined.isNew)
        _ = try await holder.cancel()
        #expect(try await holder.remove() == .done)
        try await group.close()
        try await sluice.drain()
        #expect(try await group.progress().state == .dead)
    }

    @Test("A group refuses invalid options before anything is sent")
    func refused() async throws {
        for option in [EnqueueOptions.priority(.high), .delay(.seconds(1)), .untracked, .limitKey("k"), .attempts(2)] {
            await #expect(throws: OperationsError.self) { _ = try await client.openGroup("g", option) }
        }
        await #expect(throws: OperationsError.self) { _ = try await client.openGroup("a b") }
        await #expect(throws: OperationsError.self) { _ = try await client.openGroup("g", lease: .zero) }
        let group = try await client.openGroup("g")
        await #expect(throws: OperationsError.self) { try await client.enqueue(Crawl(), .group(group), .untracked) }
        let plain = try await client.enqueue(Crawl())
        await #expect(throws: OperationsError.self) { try await client.group(plain.id).close() }
        await #expect(throws: OperationsError.self) { _ = try await client.group(plain.id).progress() }
        await #expect(throws: OperationsError.self) { try await client.enqueue(Crawl(), .withCompletion) }
    }

    @Test("A repeated enqueue leaves members unchanged, and a dependent of a group is not its member")
    func repeated() async throws {
        let open = try await client.openGroup("open", .id(OperationID(key: "open")))
        let closed = try await client.openGroup("closed")
        let id = OperationID(key: "member")
        let both: [EnqueueOptions] = [.group(open), .group(closed), .queue("inner"), .id(id)]
        try await client.enqueue(Crawl(), EnqueueOptions(both))
        try await closed.cancel()
        // The end of the member was not relayed to the groups.
        try await client.enqueue(Crawl(), EnqueueOptions(both))
        #expect(try await open.progress().total == 1)
        #expect(try await client.openGroup("open", .id(OperationID(key: "open"))).isNew == false)
        let later = try await client.enqueue(Crawl(), .after(open))
        await #expect(throws: OperationsError.self) { try await client.enqueue(Crawl(), .group(open), .after(open)) }
        await #expect(throws: OperationsError.self) { try await client.enqueue(Crawl(), .group(open), .id(later.id)) }
        #expect(try await open.progress().total == 1)
        await #expect(throws: OperationsError.self) {
            try await client.enqueue(Crawl(), .group(open), .after(OperationID()), .queue("inner"))
        }
        #expect(try await open.progress().total == 1)
    }

    @Test("Children start when their run completes, but not after a failed run", arguments: ["default", "inner"])
    func children(queue: String) async throws {
        try await sluice.run(Parent(failures: 1, childQueue: queue))
        try await sluice.drain()
        let reports = try await finished(Report.name)
        #expect(reports == ["a2", "at once", "at once", "b2"], "\(reports)")
        #expect(try await sluice.waiting(Report.self, queue: queue).isEmpty)
    }

    @Test("An untracked run is refused children, with the reason")
    func untracked() async throws {
        try await client.enqueue(Parent(), .untracked, .attempts(1))
        try await sluice.drain()
        var errors: [String] = []
        for try await dead in client.operations(.dead) { errors += [dead.status.lastFailure?.message ?? ""] }
        #expect(errors.count == 1 && errors[0].contains("untracked"), "\(errors)")
    }

    private func finished(_ name: String) async throws -> [String] {
        var texts: [String] = []
        for queue in ["default", "inner"] {
            for try await operation in client.operations(.finished, queue: queue) where operation.name == name {
                texts.append(String(decoding: try await operation.reference.result(), as: UTF8.self))
            }
        }
        return texts.map { $0.replacing("\"", with: "") }.sorted()
    }
}
