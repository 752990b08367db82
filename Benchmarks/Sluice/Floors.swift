import Foundation
import NIOCore
import Operations
import RedisClient

/// The most that this machine and its Redis can do: the same bytes without a queue's semantics.
struct Floors: Sendable {
    private static let list = "floor:list"
    private static let batch = SluiceDefaults.batch
    private static let window = 8
    /// The Swift floor of the machine on which the budgets were set.
    private static let usualSwift = 205_000.0

    /// PINGs per second, each sent after the answer to the one before.
    var ping: Double
    /// Elements per second by RPUSH, in calls of 500, with eight calls in flight.
    var push: Double
    /// Operations per second through two bare scripts, with a task and a JSON decode for each.
    var swift: Double

    /// Returns the speed of a machine with this Swift floor, relative to the machine of the budgets: 0.25 to 1.
    static func speed(swift: Double) -> Double { max(0.25, min(1, swift / usualSwift)) }

    var speed: Measurement {
        Measurement(
            .floor,
            "speed, 1 = the machine of the budgets or faster",
            Self.speed(swift: swift),
            .count
        )
    }

    var measurements: [Measurement] {
        [
            Measurement(.floor, "PING one by one", ping, .perSecond),
            Measurement(.floor, "RPUSH of the same bytes", push, .perSecond),
            Measurement(.floor, "bare scripts, a task and a JSON decode each", swift, .perSecond),
        ]
    }

    static func measure(_ bench: Bench) async throws -> Floors {
        let ping = try await ping(bench)
        let push = try await push(bench)
        // The better of two runs: a bad minute must not make the budgets easier.
        return Floors(
            ping: ping,
            push: push,
            swift: max(try await swift(bench), try await swift(bench))
        )
    }

    static func ping(_ bench: Bench) async throws -> Double {
        bench.progress("floor: PING")
        let pings = 5000
        let pinging = try await Bench.seconds {
            for _ in 0..<pings { try await bench.rig.control.send(RedisCommand("PING")) }
        }
        return Double(pings) / pinging
    }

    /// Measures the RPUSH floor. Call this close to the compared case, because the speed of a machine varies.
    static func push(_ bench: Bench) async throws -> Double {
        bench.progress("floor: RPUSH")
        let (count, control) = (bench.size.operations, bench.rig.control)
        let seconds = try await Bench.seconds { try await push(count, control) }
        try await control.send(RedisCommand("FLUSHALL"))
        return Double(count) / seconds
    }

    static func swift(_ bench: Bench) async throws -> Double {
        bench.progress("floor: bare scripts")
        let (count, control) = (bench.size.operations, bench.rig.control)
        try await push(count, control)
        let seconds = try await Bench.seconds { try await turn(count, control) }
        try await control.send(RedisCommand("FLUSHALL"))
        return Double(count) / seconds
    }

    private static func push(_ count: Int, _ control: RedisConnection) async throws {
        let element = Array(Bench.operations(1, tracked: false)[0].element)
        var command = RedisCommand("RPUSH", capacity: batch * (element.count + 16))
        command.append(list)
        for _ in 0..<batch { command.append(element) }
        var underWay = CircularBuffer<EventLoopFuture<RedisValue>>()
        for _ in 0..<max(1, count / batch) {
            if underWay.count == window { _ = try await underWay.removeFirst().get() }
            underWay.append(control.submit(command))
        }
        for future in underWay { _ = try await future.get() }
    }

    /// The script takes elements out of the list into a hash. Its next call removes them from the hash.
    private static let script = """
        for i = 3, #ARGV do redis.call('HDEL', KEYS[2], ARGV[i]) end
        local taken = redis.call('LPOP', KEYS[1], ARGV[1])
        if not taken then return {} end
        local pairs = {}
        for i = 1, #taken do pairs[2 * i - 1] = ARGV[2] + i; pairs[2 * i] = taken[i] end
        redis.call('HSET', KEYS[2], unpack(pairs))
        return taken
        """

    private struct Arguments: Decodable { var number: Int, text: String }

    /// Runs two batches at a time: this process works on one while the other is in Redis.
    private static func turn(_ count: Int, _ control: RedisConnection) async throws {
        let digest = try await control.send(RedisCommand("SCRIPT", "LOAD", script)).string ?? ""
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<2 { group.addTask { try await turn(lane, digest, control) } }
            try await group.waitForAll()
        }
    }

    private static func turn(_ lane: Int, _ digest: String, _ control: RedisConnection) async throws {
        var fences: [Int] = []
        var next = lane << 40
        while true {
            var command = RedisCommand("EVALSHA", capacity: 16 * batch)
            for word in [digest, "2", list, "floor:inflight", "\(batch)", "\(next)"] { command.append(word) }
            for fence in fences { command.append(fence) }
            let elements = try await control.send(command).array ?? []
            guard !elements.isEmpty else { return }
            await withTaskGroup(of: Void.self) { group in
                for element in elements { group.addTask { decode(element) } }
            }
            fences = elements.indices.map { next + 1 + $0 }
            next += elements.count
        }
    }

    private static func decode(_ element: RedisValue) {
        guard let bytes = element.bytes else { return }
        let envelope = bytes.dropFirst(OperationHeader.byteCount)
        guard let arguments = try? OperationEnvelope(Array(envelope)).arguments else { return }
        _ = try? JSONDecoder().decode(Arguments.self, from: Data(arguments))
    }
}
