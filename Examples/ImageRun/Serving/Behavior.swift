import Foundation

/// How the server treats the requests for one path.
struct Behavior: Hashable {
    /// What happens to one request.
    enum Failure: Hashable {
        /// Answered with this status and a short text.
        case status(Int)
        /// Answered properly, and the connection is closed in the middle of the body.
        case cut
    }

    /// Time before the answer starts.
    var delayMilliseconds: Int64 = 0
    /// Time that the body takes, sent in small pieces; 0 = as fast as it goes.
    var durationMilliseconds: Int64 = 0
    /// What happens to the first requests, one each; later ones are answered.
    var failures: [Failure] = []
    /// What happens to every request.
    var always: Failure?

    /// What happens to a request when so many came before it.
    func failure(after earlierRequests: Int) -> Failure? {
        always ?? (failures.indices.contains(earlierRequests) ? failures[earlierRequests] : nil)
    }
}

extension Behavior: Decodable {
    private enum Key: String, CodingKey {
        case delayMilliseconds, durationMilliseconds, failures, always
    }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        delayMilliseconds = try values.decodeIfPresent(Int64.self, forKey: .delayMilliseconds) ?? 0
        durationMilliseconds = try values.decodeIfPresent(Int64.self, forKey: .durationMilliseconds) ?? 0
        failures = try values.decodeIfPresent([Failure].self, forKey: .failures) ?? []
        always = try values.decodeIfPresent(Failure.self, forKey: .always)
    }
}

extension Behavior.Failure: Decodable {
    /// A status as a number, or `"cut"`.
    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if let status = try? value.decode(Int.self), (400...599).contains(status) {
            self = .status(status)
        } else if (try? value.decode(String.self)) == "cut" {
            self = .cut
        } else {
            throw DecodingError.dataCorruptedError(
                in: value,
                debugDescription: "expected \"cut\" or a status from 400 to 599"
            )
        }
    }
}

extension Behavior {
    /// Reads one path component that changes the behaviour: `slow`, `slow-SECONDS`, `delay-MILLISECONDS`, `missing`,
    /// `flaky`.
    /// - Returns: Whether it is one.
    mutating func apply(_ component: some StringProtocol) -> Bool {
        let parts = component.split(separator: "-", omittingEmptySubsequences: false)
        switch (parts.first, parts.count) {
        case ("slow", 1): durationMilliseconds = 6_000
        case ("missing", 1): always = .status(404)
        case ("flaky", 1): failures = [.status(503), .cut]
        case ("slow", 2):
            guard let seconds = Int64(parts[1]), (1...600).contains(seconds) else { return false }
            durationMilliseconds = seconds * 1_000
        case ("delay", 2):
            guard let milliseconds = Int64(parts[1]), (1...600_000).contains(milliseconds) else { return false }
            delayMilliseconds = milliseconds
        default: return false
        }
        return true
    }
}
