import Operations

/// Measures drains over a slow network. Batching should hide the delay.
struct NetworkCases: Sendable {
    let bench: Bench

    private var operations: Int { 2 * bench.size.operations }

    /// Runs the delays interleaved, three times, so that a change of the machine's speed does not look like the
    /// network.
    ///
    /// In the first round trips a worker learns the distance to the server. The number of operations is large enough
    /// that these hardly count.
    func run() async throws {
        let delays = [0, 1, 5]
        var seconds = Array(repeating: 0.0, count: delays.count)
        let rounds = 3
        for _ in 0..<rounds {
            for (index, delay) in delays.enumerated() {
                bench.progress("drain through a proxy that adds \(delay) ms")
                seconds[index] += try await drain(.milliseconds(delay))
            }
        }
        let rates = seconds.map { Double(rounds * operations) / $0 }
        for (delay, rate) in zip(delays, rates) {
            bench.report(
                Measurement(
                    .network,
                    "drain of untracked no-ops, 1,000 slots",
                    at: [("milliseconds each way", Double(delay) / 2)],
                    rate,
                    .perSecond,
                    reference: .init(name: "no delay", value: rates[0]),
                    bounds: delay == 0 ? [] : [.ratioAtLeast(0.8)]
                )
            )
        }
    }

    /// - Parameter delay: the delay of a round trip.
    /// - Returns: the duration in seconds.
    private func drain(_ delay: Duration) async throws -> Double {
        try await bench.rig.reset()
        let proxy = try await DelayProxy.start(to: bench.rig.endpoint, delay: delay / 2)
        defer { proxy.stop() }
        try await bench.rig.broker.setPaused(.pause(by: "bench"), queue: BenchRig.queue)
        try await bench.fill(operations, tracked: false)
        let worker = try await bench.rig.startWorker(slots: 1000, endpoint: proxy.endpoint)
        let seconds = try await Bench.seconds {
            try await bench.rig.broker.setPaused(.resume(by: "bench"), queue: BenchRig.queue)
            try await bench.rig.waitUntilFinished(operations)
        }
        try await bench.rig.stop([worker])
        return seconds
    }
}
