import ExampleBasics
import Synchronization

/// What happened, in order, and how much of it at once.
final class Journal: Sendable {
    private let list = Mutex<[String]>([])
    private let steps = Gauge()

    var entries: [String] { list.withLock { $0 } }
    var mostAtOnce: Int { steps.most }

    func note(_ entry: String) { list.withLock { $0.append(entry) } }

    func begin(_ name: String) {
        steps.begin()
        note("begin \(name)")
    }

    func end(_ name: String) {
        steps.end()
        note("end \(name)")
    }

    /// Whether everything that one entry needs was there before it.
    func has(_ entry: String, after earlier: [String]) -> Bool {
        let entries = entries
        guard let index = entries.firstIndex(of: entry) else { return false }
        return earlier.allSatisfy { entries[..<index].contains($0) }
    }
}
