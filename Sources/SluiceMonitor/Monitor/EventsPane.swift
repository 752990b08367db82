import Operations

/// The events screen: the newest lines, followed until the user scrolls back.
package struct EventsPane: Sendable {
    private static let kept = 1_000

    private(set) var lines: [EventLine] = []
    /// Transitions per second; nil = unknown.
    private(set) var rate: Double?
    /// Only lines with this text are shown; empty = all.
    var filter = ""
    /// Whether only changes by clients and operators are shown, as with `events --changes`.
    private(set) var onlyChanges = false
    /// The number of lines between the last shown one and the newest; 0 = the newest is followed.
    private(set) var back = 0
    private var lastRead: Duration?

    /// Takes the events of a pass.
    mutating func update(_ reading: EventsReading, at instant: Duration) {
        if reading.isReplay {
            (lines, rate, back) = ([], nil, 0)
        } else if let lastRead, instant > lastRead {
            rate = Double(reading.count) / (instant - lastRead).secondsAsDouble
        }
        lastRead = instant
        let before = shown.count
        lines = (lines + reading.lines).suffix(Self.kept)
        // A scrolled screen keeps showing the same lines.
        if back > 0 { back += max(0, shown.count - before) }
        back = min(back, max(0, shown.count - 1))
    }

    var shown: [EventLine] {
        let filter = filter.lowercased()
        return lines.filter { line in
            (!onlyChanges || line.isChange) && (filter.isEmpty || line.text.lowercased().contains(filter))
        }
    }

    /// The sentence shown when no event matches.
    var nothing: String {
        let what = onlyChanges ? "changes" : "events"
        return lines.isEmpty || filter.isEmpty ? "no \(what) in the last 5 minutes" : "no \(what) with this text"
    }

    mutating func toggleChanges() {
        onlyChanges.toggle()
        back = 0
    }

    mutating func scroll(by distance: Int) {
        back = min(max(0, back - distance), max(0, shown.count - 1))
    }
}

extension EventLine {
    fileprivate var isChange: Bool { if case .change(let change, _) = content { change.isOfPerson } else { false } }

    /// The line without its time, not escaped for a terminal.
    var text: String {
        let words: [String] =
            switch content {
            case .transition(let id, let state): [id.description, state.rawValue, queue]
            case .more(let count): ["and \(count) more", queue]
            case .change(let change, let id): [change.by, change.word, queue, change.sentence(naming: id)]
            case .missed(let count): ["\(count) events missed", queue]
            }
        return words.joined(separator: "  ")
    }
}
