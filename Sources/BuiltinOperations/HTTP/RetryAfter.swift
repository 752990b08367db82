import Foundation
import NIOHTTP1
import Operations

/// The pause that a server asks for.
enum RetryAfter {
    /// A longer pause is cut to this.
    static let longest: Duration = .seconds(86_400)

    /// Reads `Retry-After`: whole seconds, or an HTTP date, which is compared with the `Date` header if there is one.
    ///
    /// - Returns: nil if there is no valid header.
    static func read(_ headers: HTTPHeaders, now: Date = .now) -> Duration? {
        guard let text = headers.first(name: "Retry-After")?.trimmingCharacters(in: .whitespaces) else { return nil }
        if !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) {
            return min(.seconds(Int(text) ?? .max >> 32), longest)
        }
        guard let date = date(text) else { return nil }
        let serverNow = headers.first(name: "Date").flatMap(Self.date) ?? now
        return min(.seconds(max(0, date.timeIntervalSince(serverNow))), longest)
    }

    /// Parses the date format that HTTP allows.
    private static func date(_ text: String) -> Date? {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.date(from: text)
    }
}
