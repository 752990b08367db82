import Operations

/// Names of one queue that this worker knows and of which there are unhandled operations: its claims bring these back.
///
/// A heartbeat's reply has all names after one was new; a message brings a new one at once.
struct UnhandledNames: Sendable {
    /// What a claim has asked for.
    struct Asked: Sendable {
        var names: [String] = []
        fileprivate var news = 0
    }

    /// The number of the newest name that a heartbeat's reply told of.
    var seen: Int64 = 0
    private var names: [String] = []
    /// Grows with each notice: the answer to a claim that was sent before says nothing about it.
    private var news = 0

    @inline(__always)
    var isEmpty: Bool { names.isEmpty }

    mutating func add(_ new: [String]) {
        news += 1
        for name in new where !names.contains(name) { names.append(name) }
    }

    /// The names for the next claim. They take turns: the first of these may have enough operations for the whole claim.
    mutating func ask() -> Asked {
        guard !names.isEmpty else { return Asked() }
        let asked = Asked(names: Array(names.prefix(Defaults.unhandledNamesClaimed)), news: news)
        names.append(names.removeFirst())
        return asked
    }

    /// Nothing is left of what a claim has asked for.
    mutating func handled(_ asked: Asked) {
        guard !asked.names.isEmpty, asked.news == news else { return }
        names.removeAll(where: asked.names.contains)
    }
}

extension LocalQueue {
    /// The next heartbeats ask for all names.
    mutating func forgetSeenNames() {
        for index in members.indices { members[index].unhandled.seen = -1 }
    }

    /// There are unhandled operations with these names, which this worker knows.
    mutating func add(unhandled names: [String], _ index: Int) {
        members[index].unhandled.add(names)
        members[index].supply.expectWork()
    }
}

extension WorkerCore {
    /// There are unhandled operations with these names: those that this worker knows are claimed as soon as it has a free slot.
    func unhandled(_ names: [String], _ index: Int) {
        if noteUnhandled(names, index) { change { _, _ in } }
    }

    /// The same without a look at what may be claimed now.
    ///
    /// - Returns: whether this worker knows one of them.
    @discardableResult
    func noteUnhandled(_ names: [String], _ index: Int) -> Bool {
        let known = names.filter { registry[$0] != nil }
        if known.isEmpty { return false }
        queue.withLock { $0.add(unhandled: known, index) }
        return true
    }
}
