import Operations

/// Redis' sorted set of ids: ordered by score, then by id.
struct ScoredSet {
    struct Entry: Comparable {
        var score: Int64
        var id: OperationID

        static func < (left: Self, right: Self) -> Bool {
            left.score == right.score ? left.id < right.id : left.score < right.score
        }
    }

    private(set) var entries: [Entry] = []
    private var scores: [OperationID: Int64] = [:]

    var count: Int { entries.count }
    var first: Entry? { entries.first }

    func contains(_ id: OperationID) -> Bool { scores[id] != nil }

    mutating func insert(_ id: OperationID, score: Int64) {
        remove(id)
        let entry = Entry(score: score, id: id)
        entries.insert(entry, at: position(of: entry))
        scores[id] = score
    }

    @discardableResult
    mutating func remove(_ id: OperationID) -> Bool {
        guard let score = scores.removeValue(forKey: id) else { return false }
        entries.remove(at: position(of: Entry(score: score, id: id)))
        return true
    }

    mutating func popFirst() -> Entry? {
        guard let entry = entries.first else { return nil }
        remove(entry.id)
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
