import Foundation

/// An error as stored with an operation: its type, message and run.
public struct OperationFailure: Sendable, Codable, Equatable {
    /// The error's type, a word to group by: `HTTPError`, `exit`, `timeout`, `lost`.
    public var type: String
    /// The message, at most 4 KiB.
    public var message: String
    /// The attempt that failed, from 1.
    public var attempt: Int
    /// 1, plus the number of workers that were lost while they held this attempt.
    public var delivery: Int
    /// Facts for programs, for example `exitCode`.
    public var details: [String: Int]?
    /// The decision after the failed attempt; nil if the attempt was cancelled, or if an earlier version wrote this.
    public var verdict: Verdict?

    /// The decision after a failed attempt, and its reason.
    public struct Verdict: RawRepresentable, Sendable, Hashable, Codable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Another attempt, later.
        public static let retry = Verdict(rawValue: "retry")
        /// Dead: all attempts are used up.
        public static let exhausted = Verdict(rawValue: "exhausted")
        /// Dead: the error or the type's retry policy excludes another attempt.
        public static let final = Verdict(rawValue: "final")
        /// Cancelled: the type's retry policy no longer wants the work.
        public static let discarded = Verdict(rawValue: "discarded")
    }

    /// Makes an error to store. A message over 4 KiB is cut.
    public init(
        type: String,
        message: String,
        attempt: Int,
        delivery: Int,
        details: [String: Int]? = nil,
        verdict: Verdict? = nil
    ) {
        self.type = type
        self.message = message.cut(toBytes: SluiceDefaults.errorBytes)
        self.attempt = attempt
        self.delivery = delivery
        self.details = details
        self.verdict = verdict
    }

    package func encoded() -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map(Array.init)
            ?? Array(#"{"type":"unknown","message":"","attempt":0,"delivery":0}"#.utf8)
    }
}

/// An error that decides whether another attempt follows.
public protocol OperationFailing: Error {
    /// A word to group by.
    var failureType: String { get }
    /// Whether another attempt may succeed. False = the operation is dead at once.
    var isRetryable: Bool { get }
    /// Facts for programs.
    var failureDetails: [String: Int]? { get }
}

extension OperationFailing {
    /// True by default.
    public var isRetryable: Bool { true }
    public var failureDetails: [String: Int]? { nil }
}

extension FailedAttempt {
    /// The stored JSON as a value. Unreadable JSON becomes a failure of type `unreadable`.
    package var failure: OperationFailure {
        if let failure = try? JSONDecoder().decode(OperationFailure.self, from: Data(error)) { return failure }
        return OperationFailure(
            type: "unreadable",
            message: String(decoding: error, as: UTF8.self),
            attempt: 0,
            delivery: 0
        )
    }
}

extension OperationFailure {
    /// Type and message on one line, or the only one that is not empty. The text is untrusted.
    package var sentence: String {
        if message.isEmpty { return type }
        return type.isEmpty ? message : "\(type): \(message)"
    }
}
