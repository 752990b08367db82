import Foundation
import Operations
import RedisClient
import Synchronization

/// Scripts without a queue's semantics that take as long as others do: of these, too, a machine makes some take several times as
/// long as the rest. Each reads and writes the next of a million records, while a thread that does nothing else keeps each of the other
/// processors busy, as workers do.
struct BareScripts: Sendable {
    private static let records = 1_000_000
    private static let recordsAtOnce = 1000
    /// A tracked operation's record: its head and an envelope.
    private static let recordBytes = 107 + 150
    /// Calls that tell how long one record takes.
    private static let trials = 200
    private static let key = "local function key(i) return 'bare:' .. string.format('%026d', i) end\n"

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

    /// How many of so many calls the slow log holds.
    ///
    /// - Parameter microseconds: what each takes on average, about.
    func slow(of calls: Int, microseconds: Double) async throws -> Int {
        try await rig.reset()
        let store = try await Script(Self.storing, rig.control)
        for first in stride(from: 0, to: Self.records, by: Self.recordsAtOnce) {
            try await store.run([first, Self.recordsAtOnce, Self.recordBytes])
        }
        let touch = try await Script(Self.touching, rig.control)
        var next = 0
        func run(_ calls: Int, _ each: Int) async throws {
            for _ in 0..<calls {
                try await touch.run([next, each, Self.records])
                next += each
            }
        }
        let before = try await rig.commands().scriptMicroseconds
        try await run(Self.trials, Defaults.trackedBatch)
        let perRecord =
            (try await rig.commands().scriptMicroseconds - before) / Double(Self.trials * Defaults.trackedBatch)
        let others = BusyThreads(ProcessInfo.processInfo.activeProcessorCount - 1)
        defer { others.stop() }
        try await rig.control.send(RedisCommand("SLOWLOG", "RESET"))
        try await run(calls, max(1, Int(microseconds / perRecord)))
        return try await rig.control.send(RedisCommand("SLOWLOG", "LEN")).int ?? 0
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

/// Threads that only look whether they are to end.
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
