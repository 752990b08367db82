import Operations

/// Every operation is in exactly one place, and that place is what its record says.
struct Conservation {
    private var places: [OperationID: [String]] = [:]

    /// - Parameter layout: as `InMemoryBroker.layout` and `RedisLayout` write it.
    init(layout: [String]) {
        for line in layout {
            let words = line.split(separator: " ").map(String.init)
            guard let (id, place) = Self.place(words) else { continue }
            places[id, default: []].append(place)
        }
    }

    /// Lane references are named with their revision and sequence: only the one that its record has counts.
    private static func place(_ words: [String]) -> (OperationID, String)? {
        let kind = words[0]
        switch true {
        case kind.hasPrefix("lane:") || kind.contains(":lane:"):
            guard let header = try? OperationHeader(Array(words[2].utf8)) else { return nil }
            return (header.id, reference(kind.hasPrefix("lane:") ? "lane" : "grave", header))
        case kind == "inflight":
            guard let header = try? OperationHeader(Array(words[3].utf8)) else { return nil }
            return (header.id, "inflight")
        case kind == "scheduled", kind == "retrying", kind.hasPrefix("ended:"):
            return OperationID(words[1]).map { ($0, kind) }
        case kind.hasPrefix("grave:"):
            return OperationID(words[1]).map {
                ($0, kind.hasSuffix("scheduled") ? "grave:scheduled" : "grave:retrying")
            }
        default: return nil
        }
    }

    private static func reference(_ place: String, _ header: OperationHeader) -> String {
        header.tracked ? "\(place) \(header.revision) \(header.sequence)" : "\(place) untracked"
    }

    /// - Returns: the first operation that is in no place, in two, or in another than its record says.
    func violation(in operations: [(id: OperationID, detail: OperationDetail?)]) -> String? {
        for (id, detail) in operations {
            let real = (places[id] ?? []).filter { counts($0, for: detail) }
            let expected = detail.map { [Self.expected($0)] } ?? []
            if real != expected {
                return "\(id) is \(detail.map { "\($0.record.state)" } ?? "removed"), but lies in \(real)"
            }
        }
        return twice()
    }

    /// References left behind in a lane or a grave are no places; nor is a grave's set for what was removed or made anew.
    private func counts(_ place: String, for detail: OperationDetail?) -> Bool {
        if place.hasPrefix("grave ") || place.hasPrefix("lane ") { return detail.map { Self.expected($0) } == place }
        if place.hasPrefix("grave:") { return detail.map { Self.isBuried($0) } ?? false }
        return true
    }

    private static func isBuried(_ detail: OperationDetail) -> Bool {
        detail.state == .cancelled && detail.record.state != .cancelled
    }

    private static func expected(_ detail: OperationDetail) -> String {
        let header = detail.record.header
        let isBuried = isBuried(detail)
        return switch detail.record.state {
        case .ready: "\(isBuried ? "grave" : "lane") \(header.revision) \(header.sequence)"
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
