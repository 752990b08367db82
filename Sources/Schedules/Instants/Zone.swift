import Foundation
import Operations

/// A time zone: what its clocks show at an instant, and the instant at which its clocks show a time. All in whole seconds.
///
/// The rules of zones come with Foundation, so they need no files of the machine.
struct Zone: Sendable, Equatable {
    let name: String
    private let zone: TimeZone

    /// Farther from a local time than any offset from UTC.
    static let probe: Int64 = 26 * 3600

    /// - Throws: `.invalidOption` for a name that is in no list of zones, with the nearest one.
    init(_ name: String) throws(OperationsError) {
        // "GMT+2" is no name of IANA, and its sign is easily taken for the other one.
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

    /// What clocks show, as seconds since 1970-01-01 00:00 of these clocks.
    func local(at instant: Int64) -> Int64 { instant + offset(at: instant) }

    /// The instant at which clocks show a time. Of a time that is shown twice, the first; for a time that is skipped, the first instant after it.
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

    /// A local time from which on clocks show what they have not shown before this instant, at the earliest the next second.
    func nextLocal(after instant: Int64) -> Int64 {
        let local = local(at: instant)
        let first = self.instant(ofLocal: local)
        guard first < instant else { return local + 1 }
        // These clocks were set back between the first time that they showed this and now.
        let before = offset(at: first)
        return change(from: before, after: first, upTo: instant) + before
    }

    /// The first instant behind `from`, at most `high` and at most a day and a bit later, from which on clocks show another offset; nil = the
    /// offset does not change.
    func change(after from: Int64, upTo high: Int64) -> Int64? {
        let high = min(high, from + Self.probe)
        let offset = offset(at: from)
        return self.offset(at: high) == offset ? nil : change(from: offset, after: from, upTo: high)
    }

    private func offsets(around local: Int64) -> (before: Int64, after: Int64) {
        (offset(at: local - Self.probe), offset(at: local + Self.probe))
    }

    /// The first instant behind `low`, at most `high`, at which the offset is another one.
    private func change(from offset: Int64, after low: Int64, upTo high: Int64) -> Int64 {
        var (low, high) = (low, high)
        while high - low > 1 {
            let middle = low + (high - low) / 2
            if self.offset(at: middle) == offset { low = middle } else { high = middle }
        }
        return high
    }
}
