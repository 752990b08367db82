import Foundation
import Operations
import WorkerRuntime

/// The health of a supervisor's processes. Each process writes a file in a private folder.
struct HealthBoard: Sendable {
    /// The largest age of a file in milliseconds. The process of an older file hangs or has ended.
    private static let patienceMilliseconds: Int64 = 10_000
    let folder: URL

    /// Makes the folder.
    ///
    /// - Throws: `CLIError` if the folder cannot be made.
    init() throws(CLIError) {
        folder = try PrivateFolder.make("sluice-health")
    }

    func path(of worker: WorkerID) -> String { folder.appendingPathComponent("\(worker).json").path }

    func clear(_ worker: WorkerID) { unlink(path(of: worker)) }

    func remove() { try? FileManager.default.removeItem(at: folder) }

    /// The health of all processes: ready if one process is ready, because that one claims ready operations.
    func health(of workers: [WorkerID], count: Int) -> WorkerHealth {
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        let words = workers.map { worker in
            let text = (try? String(contentsOfFile: path(of: worker), encoding: .utf8)) ?? ""
            return Self.read(text, now: now)
        }
        return Self.sum(words, count: count)
    }

    static func read(_ text: String, now: Int64) -> WorkerHealth {
        guard let object = try? JSONValue(parsing: text), let isReady = object["ready"]?.boolValue,
            let time = object["time"]?.stringValue.flatMap(milliseconds)
        else { return WorkerHealth(isReady: false, reason: "no report yet") }
        guard abs(now - time) <= patienceMilliseconds else {
            return WorkerHealth(isReady: false, reason: "no report for \((now - time) / 1000) s")
        }
        return WorkerHealth(isReady: isReady, reason: object["reason"]?.stringValue ?? "")
    }

    private static func milliseconds(_ text: String) -> Int64? {
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        return formatter.date(from: text).map { Int64(($0.timeIntervalSince1970 * 1000).rounded()) }
    }

    static func sum(_ words: [WorkerHealth], count: Int) -> WorkerHealth {
        let ready = words.count { $0.isReady }
        let first = words.first { !$0.isReady }.map { "; " + $0.reason } ?? ""
        return WorkerHealth(isReady: ready > 0, reason: "\(ready) of \(count) processes are ready" + first)
    }
}
