import Foundation

/// The treatment of requests for one path.
struct Behavior: Hashable {
    /// The failure of one request.
    enum Failure: Hashable {
        /// The answer is this status and a short text.
        case status(Int)
        /// The answer begins properly, but the connection is closed in the middle of the body.
        case cut
    }

    /// The time before the answer starts, in milliseconds.
    var delayMilliseconds: Int64 = 0
    /// The time to send the body in small pieces, in milliseconds; 0 = as fast as possible.
    var durationMilliseconds: Int64 = 0
    /// The failures of the first requests, one each. Later requests are answered.
    var failures: [Failure] = []
    /// The failure of every request; nil = none.
    var always: Failure?

    /// Returns the failure of a request after so many earlier ones; nil = the request is answered.
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
    /// Decodes a status as a number, or `"cut"`.
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
    /// Applies one path component that changes the behaviour: `slow`, `slow-SECONDS`, `delay-MILLISECONDS`, `missing`,
    /// `flaky`.
    ///
    /// - Returns: false if the component is none of these.
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
