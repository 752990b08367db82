import Operations

// Standing cancels. Workers compare claimed operations with them before a body begins.
extension QueueModel {
    var livingStanding: [StandingCancel] { standing.filter { $0.endsAt > now } }

    /// The revision that a claim returns; 0 = every standing cancel has ended. Ended standing cancels are then
    /// forgotten, so a clock that goes back revives no standing cancel.
    mutating func takeLiveRevision() -> Int64 {
        if !livingStanding.isEmpty { return standingRevision }
        standing = []
        return 0
    }

    var standingCancels: StandingCancels {
        StandingCancels(time: now, revision: standingRevision, cancels: livingStanding)
    }

    /// Sets a standing cancel. A cancel with the same query gets another end, requester and reason.
    ///
    /// - Returns: the id and the end; nil = the queue has as many standing cancels as it may have.
    mutating func setStanding(_ new: NewStandingCancel) -> (id: Int64, endsAt: Int64)? {
        standing = livingStanding
        let index: Int
        if let known = standing.firstIndex(where: { $0.query == new.query }) {
            index = known
        } else {
            guard standing.count < StandingCancel.limit else { return nil }
            index = standing.count
            let id = standingRevision + 1
            standing.append(StandingCancel(id: id, query: new.query, endsAt: 0, setAt: now, by: "", reason: ""))
        }
        standing[index].endsAt = now + new.milliseconds
        standing[index].setAt = now
        standing[index].by = new.by
        standing[index].reason = new.reason
        standingRevision += 1
        let reason = new.reason.isEmpty ? "" : ", \(new.reason)"
        let detail = "\(new.query) for \(Self.seconds(new.milliseconds)) s\(reason)"
        effects.change = QueueChange(.setStandingCancel, by: new.by, detail: detail)
        return (standing[index].id, standing[index].endsAt)
    }

    mutating func removeStanding(_ ids: [Int64]?, by: String) -> [Int64] {
        let removed = livingStanding.filter { ids?.contains($0.id) ?? true }
        guard !removed.isEmpty else { return [] }
        standing = livingStanding.filter { !removed.contains($0) }
        standingRevision += 1
        let detail = removed.map(\.query).joined(separator: "; ")
        effects.change = QueueChange(.removeStandingCancel, by: by, detail: detail)
        return removed.map(\.id)
    }

    /// Counts an operation that a worker has cancelled because of a standing cancel.
    mutating func noteCaught(by id: Int64) {
        if let index = standing.firstIndex(where: { $0.id == id }) { standing[index].cancelled += 1 }
    }
}
