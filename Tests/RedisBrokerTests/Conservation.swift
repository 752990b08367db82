import Operations

/// Every operation is in exactly one place, and that place is what its record says.
struct Conservation {
    private var places: [OperationID: [String]] = [:]
    private let isComplete: Bool

    /// - Parameters:
    ///   - layout: as `InMemoryBroker.layout` and `RedisLayout` write it.
    ///   - isComplete: false if only the newest ended ones are in it.
    init(layout: [String], isComplete: Bool) {
        self.isComplete = isComplete
        for line in layout {
            guard let (id, place) = Self.place(line.split(separator: " ")) else { continue }
            places[id, default: []].append(place)
        }
    }

    /// Lane references are named with their revision and sequence: only the one that its record has counts.
    private static func place(_ words: [Substring]) -> (OperationID, String)? {
        let kind = words[0]
        if kind.hasPrefix("lane:") || kind.contains(":lane:") {
            return reference(kind.hasPrefix("lane:") ? "lane" : "grave", Array(words[2].utf8))
        }
        if kind == "inflight" {
            return OperationID(utf8: words[3].utf8.suffix(OperationID.characterCount)).map { ($0, "inflight") }
        }
        if kind.hasPrefix("grave:") {
            let place = kind.hasSuffix("scheduled") ? "grave:scheduled" : "grave:retrying"
            return OperationID(utf8: words[1].utf8).map { ($0, place) }
        }
        guard kind == "scheduled" || kind == "retrying" || kind.hasPrefix("ended:") else { return nil }
        return OperationID(utf8: words[1].utf8).map { ($0, String(kind)) }
    }

    /// By the fixed offsets of `OperationHeader`.
    private static func reference(_ place: String, _ header: [UInt8]) -> (OperationID, String)? {
        guard let id = OperationID(utf8: header[38..<64]) else { return nil }
        if header[1] == UInt8(ascii: "0") { return (id, "\(place) untracked") }
        return (id, place + " " + String(decoding: header[3..<4] + header[27..<38], as: UTF8.self))
    }

    /// - Returns: the first operation that is in no place, in two, or in another than its record says.
    func violation(in operations: [(id: OperationID, detail: OperationDetail?)]) -> String? {
        for (id, detail) in operations {
            var real = (places[id] ?? []).filter { counts($0, for: detail) }
            if real.allSatisfy({ $0.hasPrefix("grave:") }) { real = Array(real.prefix(1)) }
            let expected = detail.map { [Self.expected($0)] } ?? []
            if real.isEmpty, !isComplete, detail?.record.state.isTerminal == true { continue }
            if real != expected {
                return "\(id) is \(detail.map { "\($0.record.state)" } ?? "removed"), but lies in \(real)"
            }
        }
        return twice()
    }

    /// References left behind in a lane or a grave are no places; nor is an older grave's set for what was retried out of it.
    private func counts(_ place: String, for detail: OperationDetail?) -> Bool {
        let canBeLeftBehind = place.hasPrefix("grave") || place.hasPrefix("lane ")
        return canBeLeftBehind ? detail.map { Self.expected($0) } == place : true
    }

    private static func isBuried(_ detail: OperationDetail) -> Bool {
        detail.state == .cancelled && detail.record.state != .cancelled
    }

    /// Revision and sequence as a header has them.
    private static func version(_ header: OperationHeader) -> String {
        var bytes: [UInt8] = []
        header.write(into: &bytes)
        return String(decoding: bytes[3..<4] + bytes[27..<38], as: UTF8.self)
    }

    private static func expected(_ detail: OperationDetail) -> String {
        let isBuried = isBuried(detail)
        return switch detail.record.state {
        case .ready: (isBuried ? "grave " : "lane ") + version(detail.record.header)
        case .executing: "inflight"
        case .scheduled, .retrying: "\(isBuried ? "grave:" : "")\(detail.record.state)"
        case .finished, .dead, .cancelled, .expired:
            "ended:\(String(UnicodeScalar(detail.record.state.code)))"
        case .blocked: "nowhere"
        }
    }

    /// Nothing may be held twice, nor untracked lie in two places.
    private func twice() -> String? {
        for (id, list) in places {
            let counted = list.filter { $0.hasSuffix("untracked") || $0 == "inflight" || $0.hasPrefix("ended") }
            if counted.count > 1 { return "\(id) lies in \(counted)" }
        }
        return nil
    }
}
