import Foundation
import Operations
import RedisClient

/// Measures the cost of idle workers.
struct IdleCases: Sendable {
    let bench: Bench
    /// A separate rig: subscriptions of the other groups send PING now and then.
    private let rig: BenchRig

    init(bench: Bench) async throws {
        self.bench = bench
        rig = try await BenchRig.start()
    }

    func run() async throws {
        defer { rig.close() }
        try await one()
        try await thousand()
    }

    /// Measures the commands, processor time and memory of one idle worker.
    ///
    /// The worker waits for 30 s at a time. A shorter measurement may miss the two commands with which a wait ends and
    /// begins.
    private func one() async throws {
        try await rig.reset()
        let worker = try await rig.startWorker(slots: 10)
        let figures = ProcessFigures(worker.pid)
        let seconds = Double(bench.size.idleSeconds)
        bench.progress("an idle worker for \(bench.size.idleSeconds) s")
        // The worker first greets the server and loads its scripts.
        try await Task.sleep(for: .seconds(2))
        let before = try await clientCommands()
        let cpu = figures.cpuSeconds
        try await Task.sleep(for: .seconds(bench.size.idleSeconds))
        // The reading itself is one command.
        let commands = try await clientCommands() - before - 1
        let minute = 60 / seconds
        bench.report(
            Measurement(.idle, "commands a minute, one queue", commands * minute, .count, bounds: [.atMost(20)])
        )
        bench.report(
            Measurement(
                .idle,
                "processor",
                (figures.cpuSeconds - cpu) / seconds * 100,
                .percent,
                bounds: [.atMost(0.5)]
            )
        )
        bench.report(Measurement(.idle, "resident", figures.residentMebibytes, .mebibytes, bounds: [.atMost(30)]))
        bench.report(Measurement(.idle, "resident, of its own", figures.anonymousMebibytes, .mebibytes))
        try await rig.stop([worker])
    }

    /// Commands of clients, without those that scripts call.
    private func clientCommands() async throws -> Double {
        let work = try await rig.commands()
        let outside = [
            "evalsha", "eval", "script|load", "blpop", "ping", "info", "client|setname", "subscribe", "hello",
        ]
        return outside.reduce(0) { $0 + (work.calls[$1] ?? 0) }
    }

    /// Measures the heartbeats of a thousand workers, which are nearly all commands of idle workers.
    private func thousand() async throws {
        let count = 1000
        let seconds = min(10, bench.size.idleSeconds)
        bench.progress("the heartbeats of \(count) idle workers")
        try await rig.reset()
        let workers = (0..<count).map { _ in WorkerID() }
        let before = try await redisCPU()
        let start = ContinuousClock.now
        for round in 0..<(seconds * count / 5) {
            let due = start + .microseconds(round * 5_000_000 / count)
            if due > .now { try await Task.sleep(until: due, clock: .continuous) }
            let beat = Beat(
                worker: workers[round % count],
                epoch: 0,
                leaseMilliseconds: 15_000,
                intervalMilliseconds: 5000,
                info: Array("{}".utf8)
            )
            _ = try rig.broker.beat(beat, queue: BenchRig.queue)
        }
        let elapsed = (ContinuousClock.now - start).inSeconds
        bench.report(
            Measurement(
                .idle,
                "Redis' processor under 1,000 idle workers' heartbeats",
                (try await redisCPU() - before) / elapsed * 100,
                .percent
            )
        )
    }

    private func redisCPU() async throws -> Double {
        let info = try await rig.info("cpu")
        return ["used_cpu_sys", "used_cpu_user"].reduce(0) { $0 + (info[$1].flatMap { Double($0) } ?? 0) }
    }
}
