/// Reads something of some queues at a time, in rotation, so that many queues do not make one long read.
struct QueueRotation<Value: Sendable>: Sendable {
    /// The number of queues of a read.
    private let count: Int
    /// The last queue of the read before; nil = none yet.
    private var last: String?
    /// The newest values, by queue.
    private(set) var values: [String: Value] = [:]

    init(count: Int) { self.count = count }

    /// Returns the queues to read now, and forgets queues that are gone.
    ///
    /// - Parameter queues: all queues, in order.
    mutating func next(of queues: [String]) -> [String] {
        let known = Set(queues)
        values = values.filter { known.contains($0.key) }
        guard queues.count > count else { return queues }
        let start = last.flatMap { last in queues.firstIndex { $0 > last } } ?? 0
        let chosen = (start..<start + count).map { queues[$0 % queues.count] }
        last = chosen.last
        return chosen
    }

    mutating func add(_ new: [String: Value]) { values.merge(new) { _, new in new } }
}
