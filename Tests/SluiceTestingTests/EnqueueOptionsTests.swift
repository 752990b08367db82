import Foundation
import Operations
import SluiceTesting
import Testing

@Suite("Options of an enqueue", .timeLimit(.minutes(60)))
struct EnqueueOptionsTests {
    private let sluice = InMemorySluice()

    private func stored(_ id: OperationID, in queue: String = SluiceDefaults.queue) async throws -> OperationDetail? {
        try await sluice.client.broker.details([id], queue: queue).first.flatMap { $0 }
    }

    @Test("A later option replaces an earlier one, also in an existing value, and tags and headers add up")
    func merging() {
        let nightly = EnqueueOptions(
            .queue("reports"),
            .priority(.low),
            .tags("nightly"),
            .delay(.seconds(5)),
            .headers(["a": "1", "b": "1"])
        )
        let date = Date(timeIntervalSince1970: 1)
        let options = EnqueueOptions(
            nightly,
            .priority(.high),
            .at(date),
            .tags("a", "b"),
            .untracked,
            .tracked,
            .headers(["b": "2"])
        )
        var expected = EnqueueOptions()
        expected.queue = "reports"
        expected.priority = .high
        expected.start = .at(date)
        expected.tags = ["nightly", "a", "b"]
        expected.tracked = true
        expected.headers = ["a": "1", "b": "2"]
        #expect(options == expected)
        #expect(EnqueueOptions([nightly]) == nightly)
        #expect(EnqueueOptions(nightly, EnqueueOptions()) == nightly)
    }

    @Test("Each option reaches the broker, by type and by name")
    func storing() async throws {
        let options = EnqueueOptions(
            .queue("images"),
            .priority(.high),
            .delay(.seconds(5)),
            .tags("x"),
            .headers(["tenant": "acme"]),
            .attempts(7),
            .expires(after: .seconds(60)),
            .runTimeout(.seconds(9))
        )
        let handle = try await sluice.client.enqueue(Resize(path: "a.png"), options)
        let reference = try await sluice.client.enqueue(name: Resize.name, options, .id(OperationID(key: "k")))
        #expect(reference.id == OperationID(key: "k"))
        for id in [handle.id, reference.id] {
            let header = try #require(try await stored(id, in: "images")).record.header
            #expect(header.priority == .high)
            #expect(header.readyAt == sluice.clock.now + 5000)
            #expect(header.expiresAt == sluice.clock.now + 60_000)
            let record = try #require(try await stored(id, in: "images")).record
            let envelope = try OperationEnvelope(record.envelope)
            #expect(envelope.tags == ["x"])
            #expect(envelope.headers == ["tenant": "acme"])
            #expect(envelope.retry.attempts == 7)
            #expect(envelope.runTimeout == .seconds(9))
        }
    }

    @Test("A body gets the headers in each attempt, and a list of operations includes them")
    func headers() async throws {
        struct Billed: DistributedOperation {
            static let name = "billed"
            func main(_ context: OperationContext) async throws -> String {
                if context.attempt == 1 { throw Busy() }
                return context.headers.map { "\($0.key)=\($0.value)" }.sorted().joined(separator: " ")
            }
        }
        let sluice = InMemorySluice { $0.register(Billed.self) }
        let options = EnqueueOptions(.headers(["tenant": "acme", "trace": "1"]), .headers(["trace": "2"]))
        #expect(try await sluice.run(Billed(), options) == "tenant=acme trace=2")
        let handle = try await sluice.client.enqueue(Billed(), options)
        for try await found in sluice.client.operations(.ready) {
            #expect(found.reference.id == handle.id && found.headers == ["tenant": "acme", "trace": "2"])
        }
        let error = await #expect(throws: OperationsError.self) {
            try await sluice.client.enqueue(Billed(), .headers(["a b": ""]))
        }
        #expect(error?.code == .invalidOption)
    }

    @Test("Each of many operations may have its own options, in order, and its own id", arguments: [3, 2500])
    func each(count: Int) async throws {
        let bodies = (0..<count).map { Resize(path: "\($0)") }
        let handles = try await sluice.client.enqueue(bodies, .priority(.low), .tags("all")) { body in
            body.path == "1" ? EnqueueOptions(.id(OperationID(key: "one")), .priority(.high)) : .tags(body.path)
        }
        #expect(handles.count == count)
        #expect(handles[1].id == OperationID(key: "one"))
        let others = handles.indices.filter { $0 != 1 }
        #expect(others.map { handles[$0].id.description } == others.map { handles[$0].id.description }.sorted())
        for index in [0, 1, count - 1] {
            let record = try #require(try await stored(handles[index].id)).record
            #expect(record.header.priority == (index == 1 ? .high : .low))
            #expect(try OperationEnvelope(record.envelope).tags == (index == 1 ? ["all"] : ["all", "\(index)"]))
        }
    }

    @Test("An invalid option for one of many operations enqueues nothing and explains the fix")
    func refusals() async throws {
        let bodies = [Resize(path: "a"), Resize(path: "b")]
        func message(_ call: () async throws -> [OperationHandle<Resize>]) async -> String? {
            do { _ = try await call() } catch { return (error as? OperationsError)?.message }
            return nil
        }
        let client = sluice.client
        let id = OperationID()
        #expect(
            await message { try await client.enqueue(bodies, .id(id)) }
                == "one id was given for 2 operations: give each its own, enqueue(…) { .id(…) }"
        )
        #expect(
            await message { try await client.enqueue(bodies) { $0.path == "b" ? .queue("other") : .tags("x") } }
                == #"one operation asks for queue "other", but its call enqueues to "default": use one call per queue"#
        )
        #expect(
            await message { try await client.enqueue(bodies) { _ in .durability(.disk) } }
                == "one operation asks for another durability than its call: give .durability(…) to the call"
        )
        #expect(try await sluice.waiting(Resize.self).isEmpty)
    }
}
