import Foundation

/// Returns the median of several runs, in nanoseconds for one operation.
func nanoseconds(runs: Int, operations: Int, _ work: () async throws -> Void) async rethrows -> Double {
    var times: [Double] = []
    for _ in 0..<runs {
        let start = ContinuousClock.now
        try await work()
        let (seconds, attoseconds) = (ContinuousClock.now - start).components
        times.append((Double(seconds) * 1e9 + Double(attoseconds) / 1e9) / Double(operations))
    }
    return times.sorted()[runs / 2]
}

/// Returns the resident memory of this process in bytes; 0 if the system has no /proc.
func residentBytes() -> Int {
    guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else { return 0 }
    for line in status.split(separator: "\n") where line.hasPrefix("VmRSS:") {
        return (line.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }.first ?? 0) * 1024
    }
    return 0
}

struct Row: Codable {
    var name: String
    var operations: Int
    var nanosecondsPerOperation: Double
    var foundationNanosecondsPerOperation: Double?
    var timesFaster: Double?
}

struct MemoryRow: Codable {
    var name: String
    var operations: Int
    var bytesPerWaitingOperation: Double
}
