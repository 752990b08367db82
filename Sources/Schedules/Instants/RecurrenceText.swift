import Operations

extension Recurrence: CustomStringConvertible {
    /// `every 10m`, or the cron expression and its zone.
    public var description: String {
        switch form {
        case .every(let milliseconds): "every \(Self.text(milliseconds))"
        case .cron(let text, let zone): "\(text) \(zone)"
        case .invalid(let time): "at \(time)"
        }
    }

    /// The interval in milliseconds; nil for a cron expression.
    package var interval: Int64? { if case .every(let milliseconds) = form { milliseconds } else { nil } }

    /// The cron expression and its zone; nil for equal intervals.
    package var cron: (expression: String, zone: String)? {
        if case .cron(let text, let zone) = form { (text, zone) } else { nil }
    }

    /// The interval in units from large to small: `1h30m`.
    private static func text(_ milliseconds: Int64) -> String {
        var (rest, text) = (milliseconds, "")
        for (name, size) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)]
            as [(String, Int64)]
        {
            if rest >= size { text += "\(rest / size)\(name)" }
            rest %= size
        }
        return text
    }
}

extension Recurrence {
    /// The local time of an instant with its offset, such as `2026-03-29T03:00:00+02:00`; in UTC for equal intervals.
    package func localTime(_ instant: Int64) -> String {
        let zone = cron.flatMap { try? Zone($0.zone) }
        let seconds = instant.floored(by: 1000)
        let offset = zone?.offset(at: seconds) ?? 0
        let local = seconds + offset
        let day = CivilDay(Int(local.floored(by: 86_400)))
        let time = Int(local - local.floored(by: 86_400) * 86_400)
        let date = "\(padded(day.year, 4))-\(padded(day.month))-\(padded(day.day))"
        let clock = "\(padded(time / 3600)):\(padded(time / 60 % 60)):\(padded(time % 60))"
        let minutes = Int(abs(offset)) / 60
        let sign = offset < 0 ? "-" : "+"
        return "\(date)T\(clock)" + (offset == 0 ? "Z" : "\(sign)\(padded(minutes / 60)):\(padded(minutes % 60))")
    }

    private func padded(_ number: Int, _ length: Int = 2) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, length - digits.count)) + digits
    }
}
