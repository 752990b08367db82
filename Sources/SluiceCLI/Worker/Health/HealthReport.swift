import Foundation
import Operations
import TerminalText
import WorkerRuntime

/// A report about a worker's health. The report itself shows that the process lives.
struct HealthReport: Sendable {
    var health: WorkerHealth
    /// Milliseconds since 1970 by this machine's clock.
    var time: Int64

    init(_ health: WorkerHealth) {
        self.health = health
        time = Int64(Date().timeIntervalSince1970 * 1000)
    }

    var json: String {
        let object: JSONValue = [
            "v": 1,
            "time": .string(TimeText.rfc3339(time)),
            "live": true,
            "ready": .bool(health.isReady),
            "reason": .string(health.reason),
        ]
        return object.serialized() + "\n"
    }
}
