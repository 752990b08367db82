import Foundation
import Logging
import RedisBroker
import RedisClient
import TestSupport
import Testing

@testable import Operations
@testable import Sluice

private struct Note: DistributedOperation {
    static let name = "note"
    let number: Int

    func main(_ context: OperationContext) async throws {}
}

/// A buffered client of a server that stops and starts again
@Suite(
    "A client's buffer",
    .fewAtOnce,
    .enabled(if: TestRedis.isSingle, "its server crashes and comes back; ClusterTests kill a node"),
    .timeLimit(.minutes(60))
)
struct BufferTests {
    private let server: TestServer
    private let namespace = uniqueNamespace("buffer")

    init() throws { server = try TestServer.start(.durable) }

    private func client(_ buffering: EnqueueBuffering = EnqueueBuffering(patience: .milliseconds(100))) async throws
        -> SluiceClient
    {
        // Attempts of one second detect the end of an outage soon.
        try await SluiceClient.test(
            server.url(as: .producer),
            namespace: namespace,
            timeouts: .init(connect: .seconds(1)),
            buffering: buffering
        )
    }

    /// Returns the numbers of the notes in the order of the lane.
    private func stored() throws -> [Int] {
        let prefix = "{\(namespace)/default}:"
        let lane = try server.ask(RedisCommand("LRANGE", prefix + "lane:2", 0, -1))[0].expectArray()
        return try lane.compactMap { element -> Int? in
            let id = (element.string ?? "").suffix(26)
            let record = try server.ask(RedisCommand("GET", prefix + id))[0].expectString()
            return record.firstMatch(of: /"number":(\d+)/).flatMap { Int($0.1) }
        }
    }

    @Test("Operations enqueued while Redis is away are stored later: all of them, once, in order")
    func outage() async throws {
        // With this patience even a slow machine gets an answer in time.
        let patient = try await client(EnqueueBuffering(patience: patience))
        let first = try await patient.enqueue(Note(number: 0))
        #expect(first.storage == .stored && first.reference.isNew)
        await patient.close()
        let client = try await client()
        server.crash()
        var handles: [OperationHandle<Note>] = []
        for number in 1...20 { handles.append(try await client.enqueue(Note(number: number))) }
        handles += try await client.enqueue((21...40).map { Note(number: $0) })
        #expect(handles.allSatisfy { $0.storage == .buffered && !$0.reference.isNew })
        #expect(await client.flush(within: .zero) == 40)
        for timeout in [Duration.zero, .milliseconds(1)] {
            let late = await #expect(throws: OperationsError.self) {
                try await handles[3].reference.stored(timeout: timeout)
            }
            #expect(late?.code == .timedOut && late?.id == handles[3].id)
            let value = await #expect(throws: OperationsError.self) { try await handles[3].value(timeout: timeout) }
            #expect(value?.message.contains("still in the client's buffer") == true)
        }
        try server.restart()
        for handle in handles { try await handle.reference.stored() }
        #expect(handles.allSatisfy { $0.storage == .stored })
        let last = try await client.enqueue(Note(number: 41))
        // On a slow machine the operation was buffered first.
        try await last.reference.stored()
        #expect(last.storage == .stored)
        #expect(await client.flush(within: patience) == 0)
        #expect(try stored() == Array(0...41))
        #expect(try await handles[7].state() == .ready)
        await client.close()
    }

    @Test("A wait without patience ends at once, even if its time is over before it begins")
    func impatient() async {
        let receipt = EnqueueReceipt(count: 1)
        for _ in 0..<5_000 { #expect(await !receipt.wait(atMost: .zero)) }
        let cancelled = Task { await receipt.wait(atMost: nil) }
        cancelled.cancel()
        #expect(await !cancelled.value)
        receipt.settle(0, .success(.created))
        #expect(await receipt.wait(atMost: .zero))
    }

    @Test("A lost reply creates no second operation")
    func lostReply() async throws {
        let proxy = try await FaultProxy.start(to: server.endpoint)
        defer { proxy.stop() }
        let client = try await SluiceClient.test(
            TestUsers.url(proxy.endpoint.description, as: .producer),
            namespace: namespace,
            timeouts: .init(),
            buffering: EnqueueBuffering(patience: .milliseconds(200))
        )
        try await client.enqueue(Note(number: 0))
        var handles: [OperationHandle<Note>] = []
        for round in 0..<5 {
            proxy.set(.loseReplies(count: 1, marker: "note"))
            handles.append(try await client.enqueue(Note(number: 2 * round + 1)))
            handles.append(try await client.enqueue(Note(number: 2 * round + 2)))
            for handle in handles { try await handle.reference.stored() }
        }
        #expect(proxy.lostReplies >= 5)
        #expect(try stored() == Array(0...10))
        await client.close()
    }

    @Test("A full buffer refuses with a reason, and a refused operation is never stored")
    func full() async throws {
        let client = try await client(EnqueueBuffering(maxOperations: 5, patience: .milliseconds(500)))
        server.crash()
        for number in 1...5 { try await client.enqueue(Note(number: number)) }
        let error = await #expect(throws: OperationsError.self) { try await client.enqueue(Note(number: 6)) }
        #expect(error?.code == .bufferFull && error?.message.contains("5 operations") == true)
        try server.restart()
        #expect(await client.flush(within: patience) == 0)
        #expect(try stored() == Array(1...5))
        await client.close()
        let patient = try await self.client(EnqueueBuffering(maxOperations: 5, patience: patience))
        try await patient.enqueue((6...30).map { Note(number: $0) })
        #expect(await patient.flush(within: patience) == 0)
        #expect(try stored() == Array(1...30))
        await patient.close()
    }

    @Test("The buffer is also limited in bytes")
    func bytes() async throws {
        let client = try await client(EnqueueBuffering(maxBytes: 1 << 20, patience: .milliseconds(50)))
        server.crash()
        let large: JSONValue = ["text": .string(String(repeating: "x", count: 600_000))]
        try await client.enqueue(name: "note", arguments: JSONArguments(large))
        let error = await #expect(throws: OperationsError.self) {
            try await client.enqueue(name: "note", arguments: JSONArguments(large))
        }
        #expect(error?.code == .bufferFull)
        try await client.enqueue(name: "note", arguments: ["number": 1])
        try server.restart()
        #expect(await client.flush(within: patience) == 0)
        await client.close()
    }

    @Test("Delays and expiries continue while an operation waits in the buffer")
    func delays() async throws {
        let client = try await client()
        server.crash()
        let delayed = try await client.enqueue(Note(number: 1), .delay(.milliseconds(300)))
        let later = try await client.enqueue(Note(number: 3), .at(Date(timeIntervalSinceNow: 3600)))
        await takeTime(.milliseconds(400))
        try server.restart()
        #expect(await client.flush(within: patience) == 0)
        #expect(try await delayed.state() == .ready)
        #expect(try await later.state() == .scheduled)
        await client.close()
        let waiting = NewOperation(delayMilliseconds: 500, expiresMilliseconds: 300, envelope: [])
        let now = ContinuousClock.now
        let entry = EnqueueLine.Entry(
            operation: waiting,
            queue: "q",
            receipt: EnqueueReceipt(count: 1),
            index: 0,
            since: now
        )
        let soon = entry.operation(at: now + .milliseconds(200))
        #expect(soon.delayMilliseconds == 300 && soon.expiresMilliseconds == 100)
        let late = entry.operation(at: now + .seconds(9))
        #expect(late.delayMilliseconds == 0 && late.expiresMilliseconds == 1)
    }

    @Test("A client may start while Redis is away; on close it gives up its buffer and reports that")
    func closing() async throws {
        server.crash()
        let buffering = EnqueueBuffering(patience: .milliseconds(50), closeTimeout: .milliseconds(200))
        let client = try await SluiceClient.connect(
            .init(.url(server.url(as: .producer)), timeouts: .init(command: .seconds(1)), buffering: buffering)
        )
        let handle = try await client.enqueue(Note(number: 1))
        #expect(handle.storage == .buffered)
        await client.close()
        guard case .refused(let error) = handle.storage else {
            Issue.record("\(handle.storage)")
            return
        }
        #expect(error.message.contains("closed"))
        await #expect(throws: OperationsError.self) { try await handle.reference.stored() }
        await #expect(throws: OperationsError.self) { try await client.enqueue(Note(number: 2)) }
    }

    @Test("An operation that the script refuses is refused for good and does not stop later ones")
    func refusedByScript() async throws {
        let client = try await client(EnqueueBuffering(patience: patience))
        let large = NewOperation(envelope: Array(repeating: UInt8(ascii: " "), count: SluiceDefaults.operationBytes))
        for _ in 0..<2 {
            let error = await #expect(throws: OperationsError.self) {
                try await client.enqueue([large], queue: "default")
            }
            #expect(error?.code == .refused)
        }
        try await client.enqueue(Note(number: 1))
        #expect(try stored() == [1])
        await client.close()
    }

    @Test("A client without a buffer throws during an outage")
    func without() async throws {
        let client = try await SluiceClient.test(server.url(as: .producer), namespace: namespace, timeouts: .init())
        server.crash()
        let error = await #expect(throws: OperationsError.self) { try await client.enqueue(Note(number: 1)) }
        #expect(error?.code == .unavailable)
        await client.close()
    }
}
