import Foundation
import Operations
import WorkerRuntime

/// What the processes of a supervisor say about their health: a file each in a folder that only they see.
struct HealthBoard: Sendable {
    /// A word that is older does not count: who gave it hangs, or is no more.
    private static let patienceMilliseconds: Int64 = 10_000
    let folder: URL

    /// - Throws: `CLIError` if no folder can be made.
    init() throws(CLIError) {
        folder = try PrivateFolder.make("sluice-health")
    }

    func path(of worker: WorkerID) -> String { folder.appendingPathComponent("\(worker).json").path }

    func clear(_ worker: WorkerID) { unlink(path(of: worker)) }

    func remove() { try? FileManager.default.removeItem(at: folder) }

    /// The sum: ready if one of them is, because then what is ready in the queues is claimed.
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
        else { return WorkerHealth(isReady: false, reason: "it says nothing yet") }
        guard abs(now - time) <= patienceMilliseconds else {
            return WorkerHealth(isReady: false, reason: "it has said nothing for \((now - time) / 1000) s")
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
