import Operations

/// A sorted set as in Redis: ordered by score, then by member.
struct ScoredMembers<Member: Hashable & Comparable & Sendable> {
    struct Entry: Comparable {
        var score: Int64
        var member: Member

        static func < (left: Self, right: Self) -> Bool {
            left.score == right.score ? left.member < right.member : left.score < right.score
        }
    }

    private(set) var entries: [Entry] = []
    private var scores: [Member: Int64] = [:]

    var count: Int { entries.count }
    var first: Entry? { entries.first }

    func contains(_ id: Member) -> Bool { scores[id] != nil }
    func score(of id: Member) -> Int64? { scores[id] }

    mutating func insert(_ id: Member, score: Int64) {
        remove(id)
        let entry = Entry(score: score, member: id)
        entries.insert(entry, at: position(of: entry))
        scores[id] = score
    }

    @discardableResult
    mutating func remove(_ id: Member) -> Bool {
        guard let score = scores.removeValue(forKey: id) else { return false }
        entries.remove(at: position(of: Entry(score: score, member: id)))
        return true
    }

    mutating func popFirst() -> Entry? {
        guard let entry = entries.first else { return nil }
        remove(entry.member)
        return entry
    }

    /// The first entries whose score is not above `score`.
    func upTo(_ score: Int64, limit: Int) -> [Entry] {
        Array(entries.prefix(while: { $0.score <= score }).prefix(limit))
    }

    private func position(of entry: Entry) -> Int {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle] < entry { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// A sorted set of operations of the queue.
typealias ScoredSet = ScoredMembers<OperationID>

extension ScoredMembers.Entry where Member == OperationID {
    var id: OperationID { member }
}
