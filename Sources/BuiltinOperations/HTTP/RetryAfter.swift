import Foundation
import NIOHTTP1
import Operations

/// The pause that a server asks for.
enum RetryAfter {
    /// The longest pause; a longer one is shortened to this.
    static let longest: Duration = .seconds(86_400)

    /// Reads `Retry-After`: whole seconds, or an HTTP date, which is compared with the `Date` header of the response if
    /// it has one.
    ///
    /// - Returns: nil without a valid header.
    static func read(_ headers: HTTPHeaders, now: Date = .now) -> Duration? {
        guard let text = headers.first(name: "Retry-After")?.trimmingCharacters(in: .whitespaces) else { return nil }
        if !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) {
            return min(.seconds(Int(text) ?? .max >> 32), longest)
        }
        guard let date = date(text, now: now) else { return nil }
        let serverNow = headers.first(name: "Date").flatMap { Self.date($0, now: now) } ?? now
        return min(.seconds(max(0, date.timeIntervalSince(serverNow))), longest)
    }

    /// The three date formats of RFC 9110, section 5.6.7: the usual one, that of RFC 850, and that of asctime.
    private static let formats = [
        "EEE, dd MMM yyyy HH:mm:ss 'GMT'", "EEEE, dd-MMM-yy HH:mm:ss 'GMT'", "EEE MMM d HH:mm:ss yyyy",
    ]

    private static func date(_ text: String, now: Date) -> Date? {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        // A year of two digits is at most 50 years in the future.
        formatter.twoDigitStartDate = now.addingTimeInterval(-50 * 365.25 * 86_400)
        // asctime pads the day with a space.
        let words = text.split(separator: " ").joined(separator: " ")
        return formats.lazy.compactMap { format -> Date? in
            formatter.dateFormat = format
            return formatter.date(from: words)
        }.first
    }
}
