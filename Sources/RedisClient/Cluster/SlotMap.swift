/// Which node of a cluster has which slots. A pure value.
struct SlotMap: Sendable, Equatable {
    typealias Host = RedisEndpoint.Host

    /// The masters. `owners` holds positions in it, counted from 1.
    private var masters: [Host] = []
    private var owners = [UInt16](repeating: 0, count: KeySlot.count)
    /// The replicas, which can be asked for the map as well.
    private(set) var replicas: [Host] = []

    init() {}

    /// Reads the reply of CLUSTER SLOTS.
    /// - Parameter asked: the node that replied. A node that does not know its own name leaves it out.
    /// - Returns: nil if the reply has another form, or no slot has a node.
    init?(_ reply: RedisValue, from asked: Host) {
        guard let ranges = reply.array, !ranges.isEmpty else { return nil }
        // Each node lists the ranges in another order. Sorted, equal maps compare equal.
        for range in ranges.sorted(by: { $0.array?.first?.int ?? 0 < $1.array?.first?.int ?? 0 }) {
            guard let parts = range.array, parts.count >= 3, let first = parts[0].int, let last = parts[1].int,
                (0..<KeySlot.count).contains(first), (first..<KeySlot.count).contains(last),
                let master = Self.host(parts[2], asked)
            else { return nil }
            for slot in first...last { assign(UInt16(slot), to: master) }
            replicas += parts.dropFirst(3).compactMap { Self.host($0, asked) }.filter { !replicas.contains($0) }
        }
    }

    private static func host(_ reply: RedisValue, _ asked: Host) -> Host? {
        guard let parts = reply.array, parts.count >= 2, let port = parts[1].int else { return nil }
        let name = parts[0].string ?? ""
        return Host(["", "?"].contains(name) ? asked.name : name, port: port)
    }

    /// The node that has the slot; nil if no node has it.
    subscript(slot: UInt16) -> Host? {
        let owner = owners[Int(slot)]
        return owner == 0 ? nil : masters[Int(owner) - 1]
    }

    mutating func assign(_ slot: UInt16, to host: Host) {
        let index = masters.firstIndex(of: host) ?? masters.endIndex
        if index == masters.endIndex { masters.append(host) }
        owners[Int(slot)] = UInt16(index + 1)
    }

    /// Every node that has slots, with one of them, in the order of the slots.
    var parts: [(host: Host, slot: UInt16)] {
        var seen: Set<UInt16> = [0]
        return owners.enumerated().compactMap { slot, owner in
            seen.insert(owner).inserted ? (masters[Int(owner) - 1], UInt16(slot)) : nil
        }
    }

    static func == (left: Self, right: Self) -> Bool { left.masters == right.masters && left.owners == right.owners }

    /// All known nodes, those with slots first.
    var hosts: [Host] { masters + replicas.filter { !masters.contains($0) } }
}

/// The node to which another one redirects a command that it did not execute.
enum Redirection: Equatable {
    case moved(slot: UInt16, RedisEndpoint.Host)
    case ask(RedisEndpoint.Host)

    /// Reads `MOVED slot host:port` and `ASK slot host:port`.
    /// - Parameter answering: the node that replied. A node leaves out its own name.
    init?(_ error: RedisServerError, from answering: RedisEndpoint.Host) {
        let words = error.message.split(separator: " ")
        guard words.count >= 3, let slot = UInt16(words[1]), slot < KeySlot.count,
            let colon = words[2].lastIndex(of: ":"), let port = Int(words[2][words[2].index(after: colon)...])
        else { return nil }
        let name = String(words[2][..<colon])
        let host = RedisEndpoint.Host(["", "?"].contains(name) ? answering.name : name, port: port)
        switch error.code {
        case .moved: self = .moved(slot: slot, host)
        case .ask: self = .ask(host)
        default: return nil
        }
    }
}
