import Foundation
import Operations
import Sluice
import SluiceTesting
import Synchronization
import Testing

/// The operations of docs/inside.md.
private final class Site: Sendable {
    static let shared = Site()
    private let asked = Mutex<[Int: Int]>([:])

    /// Returns the export at the third request.
    func export(_ id: Int) async -> String? {
        let count = asked.withLock { asked in
            asked[id, default: 0] += 1
            return asked[id] ?? 0
        }
        return count < 3 ? nil : "export-\(id)"
    }
}

private struct FetchExport: DistributedOperation {
    static let name = "export.fetch"
    let id: Int
    private var site: Site { .shared }

    private enum CodingKeys: CodingKey { case id }

    init(id: Int) { self.id = id }

    func main(_ context: OperationContext) async throws -> String {
        guard let file = await site.export(id) else { throw Snooze(for: .seconds(30), "the export is not ready") }
        return file
    }
}

/// The log of the other operations of docs/inside.md.
private final class Books: Sendable {
    static let shared = Books()
    private let kept = Mutex<[String]>([])
    var all: [String] { kept.withLock { $0 } }
    func note(_ text: String) { kept.withLock { $0.append(text) } }
}

private struct Bank: Sendable {
    func charge(_ order: Int, key: OperationID) async throws -> String {
        Books.shared.note("charge \(order)")
        return "receipt \(order)"
    }
}

private struct Mailer: Sendable {
    func send(_ receipt: String, for order: Int) async throws { Books.shared.note("mail \(receipt)") }
    func send(_ letter: String, to recipient: String) async throws {
        Books.shared.note("\(letter) to \(recipient)")
        if Books.shared.all.count(where: { $0 == "\(letter) to bob" }) == 1 { throw Busy() }
    }
}

private struct Warehouse: Sendable {
    func ship(_ order: Int) async throws {
        Books.shared.note("ship \(order)")
        if Books.shared.all.count(where: { $0 == "ship \(order)" }) == 1 { throw Busy() }
    }
}

private struct Ship: DistributedOperation {
    static let name = "order.ship"
    let order: Int
    private var bank: Bank { Bank() }
    private var mailer: Mailer { Mailer() }
    private var warehouse: Warehouse { Warehouse() }

    private enum CodingKeys: CodingKey { case order }

    init(order: Int) { self.order = order }

    func main(_ context: OperationContext) async throws {
        let receipt = try await context.once("charge") { try await bank.charge(order, key: context.id) }
        try await context.once("mail") { try await mailer.send(receipt, for: order) }
        try await warehouse.ship(order)
    }
}

private struct SendLetter: DistributedOperation {
    static let name = "letter.send"
    let letter: String
    let recipients: [String]
    private var mailer: Mailer { Mailer() }

    private enum CodingKeys: CodingKey { case letter, recipients }

    init(letter: String, recipients: [String]) { (self.letter, self.recipients) = (letter, recipients) }

    func main(_ context: OperationContext) async throws {
        try await context.iterate(recipients) { recipient in try await mailer.send(letter, to: recipient) }
    }
}

private struct Contacts: Sendable {
    func contacts(page: Int) async throws -> [Int] { page < 3 ? [page] : [] }
    func save(_ contacts: [Int]) async throws { Books.shared.note("saved \(contacts)") }
    func rows(after last: Int?) -> AsyncStream<Row> {
        AsyncStream { rows in
            for id in ((last ?? 0) + 1)...2 { rows.yield(Row(id: id)) }
            rows.finish()
        }
    }
    func add(_ row: Row) async throws { Books.shared.note("row \(row.id) added") }
}

private struct Row: Sendable, Identifiable { let id: Int }

private struct Synchronize: DistributedOperation {
    static let name = "contacts.walk"
    let isRows: Bool

    func main(_ context: OperationContext) async throws {
        let (site, store, database, index) = (Contacts(), Contacts(), Contacts(), Contacts())
        if isRows {
            try await context.iterate({ last in database.rows(after: last) }, cursor: \.id) { row in
                try await index.add(row)
            }
            return
        }
        try await context.iterate(from: 1) { page in
            let contacts = try await site.contacts(page: page)
            try await store.save(contacts)
            return contacts.isEmpty ? nil : page + 1
        }
    }
}

private struct Notify: DistributedOperation {
    static let name = "notify"
    let text: String

    func main(_ context: OperationContext) async throws { Books.shared.note(text) }
}

private struct Thumbnail: DistributedOperation {
    static let name = "document.thumbnail"
    let path: String
    let page: Int

    func main(_ context: OperationContext) async throws {
        Books.shared.note("\(path) \(page) of \(context.headers["tenant"] ?? "-")")
    }
}

private struct Document: Sendable { let pageCount: Int }

/// Enqueues operations, and then fails at its first attempt.
private struct Convert: DistributedOperation {
    static let name = "document.convert"
    static let retryPolicy = RetryPolicy(attempts: 2)
    let path: String

    func main(_ context: OperationContext) async throws {
        let document = try await load(path)
        try await context.enqueue(Notify(text: "converting \(path)"))
        let pages = (1...document.pageCount).map { Thumbnail(path: path, page: $0) }
        try await context.enqueue(pages, .queue("images"), .withCompletion)
        try await convert(document)
    }

    private func load(_ path: String) async throws -> Document { Document(pageCount: 3) }

    private func convert(_ document: Document) async throws {
        let count = Books.shared.all.count { $0 == "convert \(path)" }
        Books.shared.note("convert \(path)")
        if count == 0 { throw Busy() }
    }
}

@Suite("Inside an operation", .timeLimit(.minutes(60)))
struct InsideTests {
    @Test("Operations enqueued with a body's completion start once, with its headers, although the first attempt fails")
    func children() async throws {
        let sluice = InMemorySluice(queues: .all) {
            $0.register(Convert.self)
            $0.register(Thumbnail.self)
            $0.register(Notify.self)
        }
        try await sluice.run(Convert(path: "a.pdf"), .headers(["tenant": "acme"]))
        try await sluice.drain()
        let notes = Books.shared.all.filter { $0.contains("a.pdf") }.sorted()
        let pages = (1...3).map { "a.pdf \($0) of acme" }
        let twice = ["convert a.pdf", "convert a.pdf", "converting a.pdf", "converting a.pdf"]
        #expect(notes == pages + twice, "\(notes)")
    }

    @Test("A body that snoozes runs again at its time in the same attempt, also in the local queue")
    func snooze() async throws {
        let sluice = InMemorySluice { $0.register(FetchExport.self) }
        let handle = try await sluice.client.enqueue(FetchExport(id: 1))
        try await sluice.drain()
        #expect(try await handle.state() == .scheduled)
        sluice.clock.advance(by: .seconds(29))
        try await sluice.drain()
        #expect(try await handle.state() == .scheduled)
        try await sluice.drainAll()
        #expect(try await handle.value == "export-1")
        let status = try await handle.status()
        #expect(status.attempt == 1 && status.snoozes == 2 && status.lastFailure == nil)
    }

    @Test("A second attempt does not repeat the effects of once, also in the local queue")
    func once() async throws {
        let sluice = InMemorySluice { $0.register(Ship.self) }
        try await sluice.run(Ship(order: 1))
        let first = ["charge 1", "mail receipt 1", "ship 1", "ship 1"]
        #expect(Books.shared.all.filter { $0.hasSuffix(" 1") } == first)
        let local = LocalOperationQueue(clock: ImmediateClock())
        try await local.add(Ship(order: 2)).value
        #expect(Books.shared.all.filter { $0.hasSuffix(" 2") } == ["charge 2", "mail receipt 2", "ship 2", "ship 2"])
    }

    @Test("A second attempt of iterate continues at the failed element, also in the local queue")
    func iterate() async throws {
        let sluice = InMemorySluice { $0.register(SendLetter.self) }
        try await sluice.run(SendLetter(letter: "hello", recipients: ["ann", "bob", "eve"]))
        #expect(Books.shared.all.filter { $0.hasPrefix("hello") }.map { $0.suffix(3) } == ["ann", "bob", "bob", "eve"])
        let local = LocalOperationQueue(clock: ImmediateClock())
        try await local.add(SendLetter(letter: "bye", recipients: ["ann", "bob", "eve"])).value
        #expect(Books.shared.all.filter { $0.hasPrefix("bye") }.map { $0.suffix(3) } == ["ann", "bob", "bob", "eve"])
    }

    @Test("iterate walks over pages and rows")
    func walks() async throws {
        let sluice = InMemorySluice { $0.register(Synchronize.self) }
        try await sluice.run(Synchronize(isRows: false))
        try await sluice.run(Synchronize(isRows: true))
        #expect(Books.shared.all.filter { $0.hasPrefix("saved") } == ["saved [1]", "saved [2]", "saved []"])
        #expect(Books.shared.all.filter { $0.hasPrefix("row") } == ["row 1 added", "row 2 added"])
    }
}

/// A clock whose pauses end at once.
private struct ImmediateClock: Clock {
    typealias Instant = ContinuousClock.Instant
    var now: Instant { .now }
    var minimumResolution: Duration { .zero }
    func sleep(until deadline: Instant, tolerance: Duration?) async throws {}
}
