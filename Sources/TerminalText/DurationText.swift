import Operations

/// Durations as people type and read them: `500ms`, `30s`, `1h30m`, `7d`.
package enum DurationText {
    private static let units: [(name: String, nanoseconds: Int64)] = [
        ("ms", 1_000_000), ("s", 1_000_000_000), ("m", 60_000_000_000), ("h", 3_600_000_000_000),
        ("d", 86_400_000_000_000),
    ]

    /// The longest duration. Longer ones are typing errors, and would not fit where durations are stored.
    private static let limit = TimeLimit.milliseconds * 1_000_000

    /// Reads a duration: numbers, each with its unit (`ms s m h d`), larger units first, each unit once.
    /// - Throws: `TextError` with the text and a correct example in its message.
    package static func parse(_ text: String) throws(TextError) -> Duration {
        var rest = Substring(text)
        var total: Int64 = 0
        var lastUnit = Int64.max
        repeat {
            let part = try parsePart(&rest, of: text)
            guard part.unit < lastUnit else { throw error(text, "units go from large to small, each once (1h30m)") }
            lastUnit = part.unit
            total += part.nanoseconds
            guard total <= limit else { throw error(text, "it is longer than 100 years") }
        } while !rest.isEmpty
        return .nanoseconds(total)
    }

    private static func parsePart(
        _ rest: inout Substring,
        of text: String
    ) throws(TextError) -> (nanoseconds: Int64, unit: Int64) {
        let number = rest.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        rest = rest.dropFirst(number.count)
        let name = rest.prefix { $0.isASCII && $0.isLetter }
        rest = rest.dropFirst(name.count)
        guard !number.isEmpty else { throw error(text, "write a number and a unit: 500ms, 30s, 10m, 2h, 7d") }
        guard !name.isEmpty else { throw error(text, "a unit is missing: \(number)s, \(number)m or \(number)h?") }
        guard let unit = units.first(where: { $0.name == name })?.nanoseconds else {
            throw error(text, "\"\(name)\" is not a unit; units are ms, s, m, h, d")
        }
        guard let nanoseconds = multiply(number, unit) else {
            throw error(text, "\"\(number)\" is not a number, or is too large")
        }
        return (nanoseconds, unit)
    }

    /// Multiplies exactly: whole part and up to nine decimals as integers.
    private static func multiply(_ number: Substring, _ unit: Int64) -> Int64? {
        let parts = number.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = Int64(parts[0]), whole <= limit / unit else { return nil }
        guard parts.count == 2 else { return whole * unit }
        guard (1...9).contains(parts[1].count), let fraction = Int64(parts[1]) else { return nil }
        let scale = (0..<parts[1].count).reduce(Int64(1)) { scale, _ in scale * 10 }
        return whole * unit + Int64(Int128(fraction) * Int128(unit) / Int128(scale))
    }

    private static func error(_ text: String, _ reason: String) -> TextError {
        TextError(code: .duration, message: "\"\(SafeText.line(text))\" is not a duration: \(reason)")
    }

    /// A short text in whole seconds, with at most two units: `0s`, `12s`, `2m41s`, `2m`, `3d4h`. Negative durations
    /// count as zero.
    package static func short(_ duration: Duration) -> String {
        let seconds = max(0, duration.components.seconds)
        switch seconds {
        case ..<60: return "\(seconds)s"
        case ..<3_600: return pair(seconds, 60, "m", 1, "s")
        case ..<86_400: return pair(seconds, 3_600, "h", 60, "m")
        default: return pair(seconds, 86_400, "d", 3_600, "h")
        }
    }

    /// A text with one unit: `12s`, `2m`, `4h`, `3d`, `5y`.
    package static func coarse(_ duration: Duration) -> String {
        let seconds = max(0, duration.components.seconds)
        switch seconds {
        case ..<60: return "\(seconds)s"
        case ..<3_600: return "\(seconds / 60)m"
        case ..<86_400: return "\(seconds / 3_600)h"
        case ..<(2 * 31_536_000): return "\(seconds / 86_400)d"
        default: return "\(seconds / 31_536_000)y"
        }
    }

    /// A text for measured times: milliseconds below 100 ms, tenths of a second below 10 s, then as ``short(_:)``.
    package static func precise(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        guard seconds >= 0, attoseconds >= 0, duration > .zero else { return "0s" }
        guard duration >= .milliseconds(100) else { return "\(max(1, attoseconds / 1_000_000_000_000_000))ms" }
        guard duration < .seconds(10) else { return short(duration) }
        return "\(seconds).\(attoseconds / 100_000_000_000_000_000)s"
    }

    /// A text for settings, which `parse` reads back exactly to the millisecond. Negative durations count as zero.
    package static func exact(_ duration: Duration) -> String {
        let (seconds, attoseconds) = max(duration, .zero).components
        var rest = Int128(seconds) * 1000 + Int128(attoseconds / 1_000_000_000_000_000)
        var text = ""
        for (name, nanoseconds) in units.reversed() {
            let unit = Int128(nanoseconds / 1_000_000)
            if rest >= unit { text += "\(rest / unit)\(name)" }
            rest %= unit
        }
        return text.isEmpty ? "0s" : text
    }

    private static func pair(
        _ seconds: Int64,
        _ large: Int64,
        _ largeName: String,
        _ small: Int64,
        _ smallName: String
    ) -> String {
        let rest = seconds % large / small
        return "\(seconds / large)\(largeName)" + (rest == 0 ? "" : "\(rest)\(smallName)")
    }
}
