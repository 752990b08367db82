import Foundation
import Operations
import RedisClient
import Synchronization

/// Counts the slow ones among scripts without a queue's semantics, whose average duration is that of real scripts.
///
/// Each script reads and writes the next of a number of records. Meanwhile a busy thread occupies another processor, as
/// a worker does.
struct PlainScripts: Sendable {
    private static let recordsAtOnce = 1000
    /// The size of a tracked operation's record: its head and an envelope.
    private static let recordBytes = 107 + 150
    /// The number of calls that measure the time for so many records.
    private static let trials = 200
    private static let key = "local function key(i) return 'plain:' .. string.format('%026d', i) end\n"

    private static let storing =
        key + """
            local record = string.rep('0', ARGV[3])
            for i = ARGV[1], ARGV[1] + ARGV[2] - 1 do redis.call('SET', key(i), record) end
            """

    private static let touching =
        key + """
            for i = ARGV[1], ARGV[1] + ARGV[2] - 1 do
              local record = key(i % ARGV[3])
              redis.call('GETRANGE', record, '0', '64')
              redis.call('SETRANGE', record, '64', 'r')
            end
            """

    let rig: BenchRig
    let records: Int

    /// - Parameters:
    ///   - calls: at least 1.
    ///   - microseconds: the average duration of a call.
    /// - Returns: the number of calls in the slow log, and the average duration of a call.
    func run(_ calls: Int, microseconds: Double) async throws -> (slow: Int, microseconds: Double) {
        try await rig.reset()
        let store = try await Script(Self.storing, rig.control)
        for first in stride(from: 0, to: records, by: Self.recordsAtOnce) {
            try await store.run([first, min(Self.recordsAtOnce, records - first), Self.recordBytes])
        }
        let others = BusyThreads(min(1, ProcessInfo.processInfo.activeProcessorCount - 1))
        defer { others.stop() }
        let touch = try await Script(Self.touching, rig.control)
        var next = 0
        func measure(_ calls: Int, _ each: Int) async throws -> Double {
            let before = try await rig.commands().scriptMicroseconds
            for _ in 0..<calls {
                try await touch.run([next, each, records])
                next += each
            }
            return (try await rig.commands().scriptMicroseconds - before) / Double(calls)
        }
        // Two steps, because many records in one call take less time each than few.
        var each = SluiceDefaults.trackedBatch
        for _ in 0..<2 {
            each = max(1, Int(Double(each) * microseconds / (try await measure(Self.trials, each))))
        }
        try await rig.control.send(RedisCommand("SLOWLOG", "RESET"))
        let mean = try await measure(calls, each)
        return (try await rig.control.send(RedisCommand("SLOWLOG", "LEN")).int ?? 0, mean)
    }

    private struct Script {
        let digest: String
        let control: RedisConnection

        init(_ source: String, _ control: RedisConnection) async throws {
            digest = try await control.send(RedisCommand("SCRIPT", "LOAD", source)).string ?? ""
            self.control = control
        }

        func run(_ arguments: [Int]) async throws {
            var command = RedisCommand("EVALSHA", capacity: 128)
            command.append(digest)
            command.append(0)
            for argument in arguments { command.append(argument) }
            try await control.send(command).expectSuccess()
        }
    }
}

/// Threads that do nothing but check whether to end.
private final class BusyThreads: Sendable {
    private let isStopped = Atomic<Bool>(false)

    init(_ count: Int) {
        for _ in 0..<count {
            let thread = Thread { [self] in
                while !isStopped.load(ordering: .relaxed) {}
            }
            thread.start()
        }
    }

    func stop() { isStopped.store(true, ordering: .relaxed) }
}
