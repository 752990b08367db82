import Foundation
import Operations

/// A time zone, which converts instants to local times and back. All values are whole seconds.
///
/// Foundation contains the rules of zones, so no files of the machine are needed.
struct Zone: Sendable, Equatable {
    let name: String
    private let zone: TimeZone

    /// A distance from a local time that is larger than any offset from UTC.
    static let probe: Int64 = 26 * 3600

    /// - Throws: `.invalidOption` for a name that Foundation does not have.
    init(_ name: String) throws(OperationsError) {
        // "GMT+2" is no IANA name, and its sign is easily confused.
        guard let zone = TimeZone(identifier: name), !name.hasPrefix("GMT+"), !name.hasPrefix("GMT-") else {
            throw OperationsError(
                .invalidOption,
                "time zone \(OperationsError.quoted(name)) is unknown; expected a name like UTC or Europe/Berlin"
            )
        }
        self.name = name
        self.zone = zone
    }

    /// The names of zones, for suggestions.
    static var knownNames: [String] { TimeZone.knownTimeZoneIdentifiers + ["UTC"] }

    func offset(at instant: Int64) -> Int64 {
        Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(instant))))
    }

    /// The local time of an instant, as seconds since 1970-01-01 00:00 local time.
    func local(at instant: Int64) -> Int64 { instant + offset(at: instant) }

    /// The instant at which clocks show a local time. For a time that is shown twice, this is the first instant; for a
    /// skipped time, the first instant after it.
    func instant(ofLocal local: Int64) -> Int64 {
        let (before, after) = offsets(around: local)
        let early = local - before
        if offset(at: early) == before {
            let late = local - after
            return before != after && offset(at: late) == after ? min(early, late) : early
        }
        let late = local - after
        if offset(at: late) == after { return late }
        return change(from: before, after: local - max(before, after), upTo: local - min(before, after))
    }

    /// The first local time after this instant that the clocks have not shown before. Normally, this is one second
    /// later.
    func nextLocal(after instant: Int64) -> Int64 {
        let local = local(at: instant)
        let first = self.instant(ofLocal: local)
        guard first < instant else { return local + 1 }
        // The clocks were set back between the first instant with this local time and now.
        let before = offset(at: first)
        return change(from: before, after: first, upTo: instant) + before
    }

    /// The first instant after `from` with another offset; nil if the offset does not change. Searches up to `high`,
    /// and at most 26 hours.
    func change(after from: Int64, upTo high: Int64) -> Int64? {
        let high = min(high, from + Self.probe)
        let offset = offset(at: from)
        return self.offset(at: high) == offset ? nil : change(from: offset, after: from, upTo: high)
    }

    private func offsets(around local: Int64) -> (before: Int64, after: Int64) {
        (offset(at: local - Self.probe), offset(at: local + Self.probe))
    }

    /// The first instant after `low`, at most `high`, with another offset.
    private func change(from offset: Int64, after low: Int64, upTo high: Int64) -> Int64 {
        var (low, high) = (low, high)
        while high - low > 1 {
            let middle = low + (high - low) / 2
            if self.offset(at: middle) == offset { low = middle } else { high = middle }
        }
        return high
    }
}
