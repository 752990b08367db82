import Operations
import RedisClient

/// Measures with an append-only file that is flushed every second.
struct DurableCases: Sendable {
    let bench: Bench

    func run() async throws {
        for tracked in [false, true] {
            let without = try await rates(tracked)
            try await setAppendOnly(true)
            let with = try await rates(tracked)
            try await setAppendOnly(false)
            for (name, value, reference) in [
                ("bulk enqueue", with.enqueue, without.enqueue), ("drain of no-ops", with.drain, without.drain),
            ] {
                bench.report(
                    Measurement(
                        .durable,
                        "\(name), \(tracked.word), appendfsync everysec",
                        value,
                        .perSecond,
                        reference: .init(name: "without", value: reference),
                        bounds: [.ratioAtLeast(0.6)]
                    )
                )
            }
        }
    }

    private func setAppendOnly(_ isOn: Bool) async throws {
        try await bench.rig.reset()
        try await bench.rig.control.send(RedisCommand("CONFIG", "SET", "appendonly", isOn ? "yes" : "no"))
        // Rewriting the file is no part of the measured work.
        while try await bench.rig.info("persistence")["aof_rewrite_in_progress"] == "1" {
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private func rates(_ tracked: Bool) async throws -> (enqueue: Double, drain: Double) {
        let count = Double(bench.size.operations)
        bench.progress("bulk enqueue and drain of \(tracked.word) operations for the append-only file")
        try await bench.rig.reset()
        try await bench.rig.broker.setPaused(.pause(by: "bench"), queue: BenchRig.queue)
        let enqueue = try await Bench.seconds { try await bench.fill(bench.size.operations, tracked: tracked) }
        let worker = try await bench.rig.startWorker(slots: 500)
        let drain = try await Bench.seconds {
            try await bench.rig.broker.setPaused(.resume(by: "bench"), queue: BenchRig.queue)
            try await bench.rig.waitUntilFinished(bench.size.operations)
        }
        try await bench.rig.stop([worker])
        return (count / enqueue, count / drain)
    }
}
