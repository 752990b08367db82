import Operations

/// Names of one queue that this worker can run and that have unhandled operations. Claims of this worker bring the
/// operations back.
///
/// A heartbeat's reply has all names if one of them is new; a message brings a new name at once.
struct UnhandledNames: Sendable {
    /// The names that a claim has asked for.
    struct Asked: Sendable {
        var names: [String] = []
        fileprivate var news = 0
    }

    /// The number of the newest name that a heartbeat's reply has reported.
    var seen: Int64 = 0
    private var names: [String] = []
    /// Grows with each notice. The answer to a claim that was sent before a notice says nothing about it.
    private var news = 0

    @inline(__always)
    var isEmpty: Bool { names.isEmpty }

    mutating func add(_ new: [String]) {
        news += 1
        for name in new where !names.contains(name) { names.append(name) }
    }

    /// Returns the names for the next claim. The names take turns, because the first one may have enough operations for
    /// the whole claim.
    mutating func ask() -> Asked {
        guard !names.isEmpty else { return Asked() }
        let asked = Asked(names: Array(names.prefix(SluiceDefaults.unhandledNamesClaimed)), news: news)
        names.append(names.removeFirst())
        return asked
    }

    /// Notes that no operation is left of the names that a claim has asked for.
    mutating func handled(_ asked: Asked) {
        guard !asked.names.isEmpty, asked.news == news else { return }
        names.removeAll(where: asked.names.contains)
    }
}

extension LocalQueue {
    /// Makes the next heartbeats ask for all names.
    mutating func forgetSeenNames() {
        for index in members.indices { members[index].unhandled.seen = -1 }
    }

    /// Notes that unhandled operations have these names, which this worker can run.
    mutating func add(unhandled names: [String], _ index: Int) {
        members[index].unhandled.add(names)
        members[index].supply.expectWork()
    }
}

extension WorkerCore {
    /// Notes the names of unhandled operations. Operations that this worker can run are claimed as soon as it has a
    /// free slot.
    func unhandled(_ names: [String], _ index: Int) {
        if noteUnhandled(names, index) { change { _, _ in } }
    }

    /// Notes the names of unhandled operations, without a check of what may be claimed now.
    ///
    /// - Returns: true if this worker can run one of them.
    @discardableResult
    func noteUnhandled(_ names: [String], _ index: Int) -> Bool {
        let known = names.filter { registry[$0] != nil }
        if known.isEmpty { return false }
        queue.withLock { $0.add(unhandled: known, index) }
        return true
    }
}
