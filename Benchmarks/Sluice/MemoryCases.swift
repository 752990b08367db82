import Foundation
import Operations
import RedisClient

/// Measures the memory of Redis for each waiting operation, and of a worker under load.
struct MemoryCases: Sendable {
    let bench: Bench

    func run() async throws {
        for tracked in [false, true] { try await pending(tracked) }
        try await resident()
    }

    private func pending(_ tracked: Bool) async throws {
        let count = bench.size.operations
        bench.progress("memory of \(tracked.word) operations")
        try await bench.rig.reset()
        let before = try await bench.rig.memory()
        try await bench.fill(count, tracked: tracked)
        // The connections' buffers for commands do not count.
        let after = try await bench.rig.memory()
        bench.report(
            Measurement(
                .memory,
                "a pending \(tracked.word) operation over name and arguments",
                (after - before) / Double(count) - Double(Bench.payloadBytes),
                .bytes,
                bounds: [.atMost(tracked ? 320 : 150)]
            )
        )
    }

    /// Measures a worker's memory while it runs more and more operations.
    private func resident() async throws {
        try await bench.rig.reset()
        let worker = try await bench.rig.startWorker(slots: 100)
        let most = bench.size.endured
        var done = 0
        for target in [most / 20, most / 4, most / 2, most] {
            bench.progress("memory of a worker: \(target) operations")
            while done < target {
                let part = min(100_000, target - done)
                try await bench.fill(part, tracked: false)
                done += part
                try await bench.rig.waitUntilFinished(done)
            }
            bench.report(
                Measurement(
                    .memory,
                    "resident, one worker",
                    at: [("operations", Double(done))],
                    ProcessFigures(worker.pid).residentMebibytes,
                    .mebibytes
                )
            )
        }
        try await bench.rig.stop([worker])
    }
}

/// Reads the statistics of the system about a process.
struct ProcessFigures {
    private let pid: pid_t
    init(_ pid: pid_t) { self.pid = pid }

    var residentMebibytes: Double { kibibytes("VmRSS") / 1024 }
    /// The memory of the process alone. The rest are pages of files that processes may share.
    var anonymousMebibytes: Double { kibibytes("RssAnon") / 1024 }

    /// Processor time so far.
    var cpuSeconds: Double {
        let text = (try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)) ?? ""
        let fields = text.split(separator: ")").last?.split(separator: " ").compactMap { Double($0) } ?? []
        // The state is not a number and is dropped, so that user and system time are at 10 and 11.
        guard fields.count > 11 else { return 0 }
        return (fields[10] + fields[11]) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    private func kibibytes(_ name: String) -> Double {
        let text = (try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix(name + ":") }
        return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Double($0) } ?? 0
    }
}
