import Operations
import RedisClient
import Sluice
import SluiceCLI

/// Measures how long single operations wait for a start, a cancel or a result.
///
/// Both processes use the same clock.
struct LatencyCases: Sendable {
    let bench: Bench

    func run() async throws {
        try await bench.rig.reset()
        let worker = try await bench.rig.startWorker(slots: 10)
        try await pickUp()
        try await roundTrip()
        try await scheduled()
        try await cancelWaiting()
        try await cancelRunning(cutting: false)
        try await cancelRunning(cutting: true)
        try await bench.rig.stop([worker])
    }

    /// Measures how fast an idle worker starts an operation after a pause, in which processors and caches have gone
    /// cold.
    ///
    /// The path is a message to Redis, two scripts and a message to the worker. The producer is silent meanwhile. A
    /// producer that asks for a result at once keeps Redis and a processor busy just when the worker needs them;
    /// `roundTrip` measures that case.
    private func pickUp() async throws {
        bench.progress("pick-up by an idle worker")
        var starts = Latencies()
        var pings = Latencies()
        for _ in 0..<bench.size.samples {
            try await becomeIdle()
            let ping = MachineClock.nanoseconds
            try await bench.rig.broker.connect()
            pings.record(nanoseconds: MachineClock.nanoseconds - ping)
            try await becomeIdle()
            let begin = MachineClock.nanoseconds
            let reference = try await bench.rig.client.enqueue(name: BenchOperations.stamp, .queue(BenchRig.queue))
            try await becomeIdle()
            starts.record(nanoseconds: try await stamp(of: reference) - begin)
        }
        for figure in pings.measurements("PING after a pause") { bench.report(figure) }
        for var figure in starts.measurements("pick-up by an idle worker", p50: .atMost(0.6), p99: .atMost(1.5)) {
            // The floor of the design is two round trips, because a worker claims after it is woken. The median of two
            // round trips in a row is about twice the median of one. Other percentiles do not add up like this.
            if figure.parameters[0].value == 50 {
                figure.reference = .init(name: "two such PINGs", value: 2 * pings.milliseconds(at: 50))
            }
            bench.report(figure)
        }
    }

    /// Measures the time until a waiting producer has the result.
    private func roundTrip() async throws {
        bench.progress("await of results")
        var results = Latencies()
        for _ in 0..<bench.size.samples {
            try await becomeIdle()
            let begin = MachineClock.nanoseconds
            _ = try await stamp(
                of: try await bench.rig.client.enqueue(name: BenchOperations.stamp, .queue(BenchRig.queue))
            )
            results.record(nanoseconds: MachineClock.nanoseconds - begin)
        }
        for figure in results.measurements("enqueue, run and await the result") { bench.report(figure) }
    }

    /// Sleeps long enough for the worker to be idle again, and never in step with it.
    private func becomeIdle() async throws { try await Task.sleep(for: .microseconds(Int.random(in: 2000...5000))) }

    /// Measures how late a delayed operation starts.
    private func scheduled() async throws {
        let count = min(bench.size.samples, 300)
        bench.progress("scheduled operations")
        var pending: [(due: UInt64, reference: OperationReference)] = []
        for number in 0..<count {
            let delay = Duration.milliseconds(1000 + 10 * number)
            let due = MachineClock.nanoseconds + UInt64(delay.wholeMilliseconds) * 1_000_000
            let reference = try await bench.rig.client.enqueue(
                name: BenchOperations.stamp,
                .queue(BenchRig.queue),
                .delay(delay)
            )
            pending.append((due, reference))
        }
        var late = Latencies()
        for (due, reference) in pending {
            let started = try await stamp(of: reference)
            late.record(nanoseconds: started > due ? started - due : 0)
        }
        for figure in late.measurements("start of a scheduled operation after its time", longest: .atMost(50)) {
            bench.report(figure)
        }
    }

    private func cancelWaiting() async throws {
        bench.progress("cancel of waiting operations")
        let queue = "waiting"
        var times = Latencies()
        for _ in 0..<bench.size.samples {
            let reference = try await bench.rig.client.enqueue(name: "noop", .queue(queue))
            let begin = MachineClock.nanoseconds
            try await reference.cancel()
            times.record(nanoseconds: MachineClock.nanoseconds - begin)
        }
        for figure in times.measurements("cancel of a waiting operation") { bench.report(figure) }
    }

    /// Measures the time from a cancel until the running operation sees it, with or without pub/sub.
    private func cancelRunning(cutting: Bool) async throws {
        let name = "cancel of a running operation" + (cutting ? ", pub/sub cut" : "")
        bench.progress(name)
        // Without pub/sub, each cancel waits for a heartbeat.
        let count = cutting ? min(max(bench.size.samples / 100, 10), 50) : bench.size.samples
        var times = Latencies()
        var samples = 0
        while samples < count {
            let reference = try await bench.rig.client.enqueue(name: BenchOperations.wait, .queue(BenchRig.queue))
            while try await reference.state() != .executing { try await Task.sleep(for: .milliseconds(1)) }
            if cutting { try await bench.rig.control.send(RedisCommand("CLIENT", "KILL", "TYPE", "pubsub")) }
            let begin = MachineClock.nanoseconds
            try await reference.cancel()
            do { times.record(nanoseconds: try await stamp(of: reference) - begin) } catch let error as OperationsError
                where error.code == .cancelled
            {
                // The operation was claimed, but its body had not begun, so the body never saw the cancel.
                continue
            }
            samples += 1
        }
        let figures =
            cutting
            // The bound is one heartbeat and a second.
            ? times.measurements(name, longest: .atMost(6000))
            : times.measurements(name, p50: .atMost(0.6), p99: .atMost(3))
        for figure in figures { bench.report(figure) }
    }

    private func stamp(of reference: OperationReference) async throws -> UInt64 {
        let text = String(decoding: try await reference.result(), as: UTF8.self)
        guard let stamp = UInt64(text) else { throw CLIError(.bug, "a stamp is \(OperationsError.quoted(text))") }
        return stamp
    }
}
