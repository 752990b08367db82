import Operations
import RedisClient
import BrokerModel
import TestSupport
import Testing

@testable import RedisBroker

/// Compares `enqueue_single.lua` and `claim_single.lua` with the rest of their scripts.
@Suite("The fast path of the commonest calls", .timeLimit(.minutes(60)))
struct ShortWayTests {
    @Test("answers, stores and announces what the full path does", arguments: [1, 2, 3] as [UInt64])
    func sameAsTheLongWay(seed: UInt64) async throws {
        var run = try await PairedRun(seed: seed)
        defer { run.close() }
        for _ in 1...150 { try await run.round() }
        let (enqueues, claims) = try await run.shortWaysTaken()
        // Some calls must take the full path, or the test would not cover the conditions of the fast path.
        #expect(enqueues > 60 && enqueues < run.enqueues, "\(enqueues) of \(run.enqueues)")
        #expect(claims > 20 && claims < run.claims, "\(claims) of \(run.claims)")
    }
}

/// Two brokers run equal steps, but one of them always takes the full path.
private struct PairedRun {
    private static let queue = "ways"
    /// A separate server, because KEYS reads everything that a server has.
    private let server: TestServer
    private let worker = WorkerID("worker")
    private let short: ClockedBroker
    private let long: ClockedBroker
    private var chance: SeededGenerator
    private var made: UInt64 = 0
    private var known: [OperationID] = []
    /// An operation that was cancelled before it was enqueued.
    private var cancelled: OperationID?
    private var held: [ClaimedOperation] = []
    private(set) var enqueues = 0
    private(set) var claims = 0

    init(seed: UInt64) async throws {
        chance = SeededGenerator(seed: seed)
        server = try TestServer.start()
        short = try await ClockedBroker(queue: Self.queue, endpoint: server.endpoint, scriptEdit: Self.counting)
        long = try await ClockedBroker(queue: Self.queue, endpoint: server.endpoint, scriptEdit: Self.withoutShortWays)
    }

    func close() {
        short.close()
        long.close()
        server.stop()
    }

    // MARK: Scripts

    /// Stores messages instead of publishing them, so that they can be compared.
    @Sendable private static func keepingMessages(_ source: String) -> String {
        source.replacing("call('PUBLISH', CHANNELS .. 'events', ", with: "call('RPUSH', PREFIX .. 'published', ")
    }

    @Sendable private static func counting(_ source: String) -> String {
        keepingMessages(source)
            .replacing("    local id, lane, answer", with: "    call('INCR', PREFIX .. 'way:e') local id, lane, answer")
            .replacing("    call('LPOP', middle)", with: "    call('LPOP', middle) call('INCR', PREFIX .. 'way:c')")
    }

    @Sendable private static func withoutShortWays(_ source: String) -> String {
        counting(source)
            .replacing("if #ARGV == 6 and ", with: "if false and ")
            .replacing("if ARGV[5] == '1' and ", with: "if false and ")
    }

    /// - Throws: if the broker of the full path took a fast path.
    func shortWaysTaken() async throws -> (enqueues: Int, claims: Int) {
        func number(_ key: String, _ broker: ClockedBroker) async throws -> Int {
            Int(try await broker.direct.send(RedisCommand("GET", broker.prefix + key)).string ?? "") ?? 0
        }
        try #require(try await number("way:e", long) == 0)
        try #require(try await number("way:c", long) == 0)
        return (try await number("way:e", short), try await number("way:c", short))
    }

    // MARK: Steps

    /// Runs one round: operations arrive, and an idle worker claims and completes them, sometimes with a disturbance.
    mutating func round() async throws {
        if chance(0.3) { try await advance(by: Int.random(in: 1...(chance(0.1) ? 700_000 : 10_000), using: &chance)) }
        if chance(0.9) { try await step(beat()) }
        if chance(0.3) { try await prepare() }
        for _ in 0..<(chance(0.6) ? 1 : Int.random(in: 0...3, using: &chance)) {
            try await enqueue((0..<(chance(0.9) ? 1 : 2)).map { _ in operation() })
        }
        let isPaused = chance(0.1)
        if isPaused { try await step(.pause(nil)) }
        if chance(0.3) { try await disturb() }
        for _ in 0..<(chance(0.8) ? 1 : 2) { try await claim(onlyIfIdle: true) }
        if isPaused { try await step(.resume) }
        try await complete()
        // Sometimes the queue is left completely empty.
        if chance(0.6) { try await drain() }
    }

    /// Prepares a state that may exist before the round.
    private mutating func prepare() async throws {
        switch Int.random(in: 1...4, using: &chance) {
        // As if a worker had taken the token and not claimed.
        case 1: try await delete("wake")
        // As if a day had passed.
        case 2: try await delete("intents")
        case 3 where cancelled == nil:
            let id = newID()
            cancelled = id
            try await step(.cancel([id], CancelRequest(reason: "", by: "test", storesIntent: true)))
        default:
            // A timer for an operation that never comes due.
            try await drain()
            let delayed = NewOperation(id: newID(), delayMilliseconds: 60_000, envelope: Self.envelope(5))
            try await enqueue([delayed])
            try await claim(onlyIfIdle: false)
            try await step(.cancel([delayed.id], CancelRequest(reason: "", by: "test")))
        }
    }

    /// Makes a disturbance before the claim.
    private mutating func disturb() async throws {
        if chance(0.5), let id = known.suffix(2).randomElement(using: &chance) {
            try await step(.cancel([id], CancelRequest(reason: "", by: "test")))
        } else {
            // Some operations expire within this time, which is mostly shorter than the lease.
            try await advance(by: Int.random(in: 1100...5100, using: &chance))
        }
    }

    private mutating func drain() async throws {
        while try await claim(onlyIfIdle: false) > 0 { try await complete() }
    }

    private mutating func enqueue(_ operations: [NewOperation]) async throws {
        enqueues += 1
        try await step(.enqueue(operations))
    }

    private func delete(_ key: String) async throws {
        for broker in [short, long] {
            try await broker.direct.send(RedisCommand("DEL", broker.prefix + key)).expectSuccess()
        }
    }

    private mutating func advance(by milliseconds: Int) async throws {
        try await short.advance(by: .milliseconds(milliseconds))
        try await long.advance(by: .milliseconds(milliseconds))
    }

    private func beat() -> RandomStep {
        .beat(Beat(worker: worker, epoch: 0, leaseMilliseconds: 5000, intervalMilliseconds: 1000, info: []))
    }

    private mutating func operation() -> NewOperation {
        let isTracked = chance(0.5)
        let operation = NewOperation(
            id: cancelled ?? (isTracked && chance(0.1) ? known.randomElement(using: &chance) : nil) ?? newID(),
            tracked: isTracked,
            priority: chance(0.9) ? .normal : .high,
            delayMilliseconds: isTracked && chance(0.1) ? 3000 : 0,
            expiresMilliseconds: chance(0.2) ? 1000 : 0,
            envelope: Self.envelope(chance(0.05) ? 5000 : 5)
        )
        if isTracked { known.append(operation.id) }
        cancelled = nil
        return operation
    }

    private static func envelope(_ length: Int) -> [UInt8] {
        Array(#"{"name":"n","args":"\#(String(repeating: "x", count: length))"}"#.utf8)
    }

    private mutating func chance(_ part: Double) -> Bool { Double.random(in: 0..<1, using: &chance) < part }

    private mutating func newID() -> OperationID {
        made += 1
        return OperationID(milliseconds: 1_700_000_000_000 + made, using: &chance)
    }

    @discardableResult
    private mutating func claim(onlyIfIdle: Bool) async throws -> Int {
        if onlyIfIdle { claims += 1 }
        let request = ClaimRequest(
            worker: worker,
            epoch: chance(0.95) ? 0 : -1,
            capacity: onlyIfIdle ? Int.random(in: 1...2, using: &chance) : 10,
            onlyIfIdle: onlyIfIdle,
            highestFence: chance(0.9) ? 0 : Int64.random(in: 0...1000, using: &chance)
        )
        guard case .claimed(let claim) = try await step(.claim(request)) else { return 0 }
        held += claim.operations
        return claim.operations.count
    }

    private mutating func complete() async throws {
        guard !held.isEmpty else { return }
        let completions = held.map { Completion(fence: $0.fence, id: $0.id, tracked: $0.header.tracked) }
        held = []
        try await step(.complete(completions, isRepeat: false, worker, thenClaim: nil))
    }

    @discardableResult
    private func step(_ step: RandomStep) async throws -> StepOutcome {
        let outcome = try await step.outcome(on: short.redis, queue: Self.queue)
        let expected = try await step.outcome(on: long.redis, queue: Self.queue)
        try #require(outcome == expected, "\(step)")
        try #require(try await stored(in: short) == stored(in: long), "\(step)")
        return outcome
    }

    // MARK: Stored keys

    private func stored(in broker: ClockedBroker) async throws -> String {
        let producer = broker.redis.ledger.producer
        let text = try await broker.direct.send(RedisCommand("EVAL", Self.dump, 1, broker.prefix + "meta")).string ?? ""
        return text.replacing(producer, with: "PRODUCER")
    }

    /// Returns all keys of the queue with their values, in a fixed order.
    ///
    /// The clock and the counts of this test are left out, and so are the ids of the stream, which contain Redis' own
    /// time. Trailing blanks of a worker's entries are removed.
    private static let dump = """
        local prefix, lines = string.sub(KEYS[1], 1, -5), {}
        local function pairs_of(values)
          local fields = {}
          for i = 1, #values, 2 do fields[#fields + 1] = values[i] .. '=' .. string.gsub(values[i + 1], ' $', '') end
          table.sort(fields)
          return table.concat(fields, ' ')
        end
        local function content(key)
          local kind = redis.call('TYPE', key).ok
          if kind == 'string' then return redis.call('GET', key) end
          if kind == 'list' then return table.concat(redis.call('LRANGE', key, 0, -1), ' ') end
          if kind == 'hash' then return pairs_of(redis.call('HGETALL', key)) end
          if kind == 'zset' then return pairs_of(redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')) end
          local entries = {}
          for i, entry in ipairs(redis.call('XRANGE', key, '-', '+')) do entries[i] = table.concat(entry[2], ' ') end
          return table.concat(entries, ' ')
        end
        for _, key in ipairs(redis.call('KEYS', prefix .. '*')) do
          local name = string.sub(key, #prefix + 1)
          if name ~= 'clock' and string.sub(name, 1, 4) ~= 'way:' then lines[#lines + 1] = name .. ': ' .. content(key) end
        end
        table.sort(lines)
        return table.concat(lines, string.char(10))
        """
}
