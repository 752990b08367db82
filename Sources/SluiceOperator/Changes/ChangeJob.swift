import Operations
import Selectors
import TerminalText

/// A change of many operations that is stored in Redis, so that it goes on if the program that performs it dies.
package struct ChangeJob: Sendable, Equatable {
    package enum Target: Sendable, Equatable {
        case marked([OperationAddress])
        /// The text of a query.
        case matching(String)
    }

    /// The most operations that can be marked.
    package static let markedLimit = 500

    package var kind: ChangeKind
    package var target: Target
    /// The time over which retried operations start evenly; nil = now.
    package var spread: Duration?
    package var reason: String
    package var by: String
    /// The host of the dashboard that took the request; empty = unknown.
    package var from: String
    /// The number of operations that the confirmed plan has counted.
    package var expected: Int

    package init(
        _ kind: ChangeKind,
        _ target: Target,
        spread: Duration? = nil,
        reason: String,
        by: String,
        from: String = "",
        expected: Int
    ) {
        (self.kind, self.target, self.spread) = (kind, target, spread)
        // As Redis stores both with each operation, so that a take-over finds what this change has changed.
        (self.reason, self.by, self.from, self.expected) = (reason.oneLine, by.oneWord, from, expected)
    }

    /// The query, with the states that it searches.
    ///
    /// - Throws: `QueryError` if the stored text is no query.
    package func query(_ text: String) throws(QueryError) -> OperationQuery {
        var query = try OperationQuery(parsing: text)
        if !query.terms.contains(where: { $0.field == .state }) { query.terms.append(.states(kind.searched)) }
        return query
    }
}

/// The progress of a stored change.
package struct ChangeJobProgress: Sendable, Equatable {
    package var done = 0
    package var refused = 0
    /// The first refused operations, at most `BulkProgress.keptRefusals`.
    package var refusals: [BulkRefusal] = []
    /// The highest sequence number of each queue when the change was stored. A retry gives an operation a higher one.
    package var starts: [String: Int64] = [:]
    /// The most queues that an ended change names.
    package static let keptQueues = 20

    /// The queues that have the event of the beginning; the first ones of an ended change.
    package var queues: [String] = []
    /// The operations of the step under way.
    package var pending: [OperationAddress] = []
    /// The reason why the change ended; nil = it goes on.
    package var end: BulkProgress.End?

    package init(starts: [String: Int64]) { self.starts = starts }

    mutating func add(_ outcomes: [OperationOutcome]) {
        var progress = BulkProgress(BulkChange(.cancel, .marked([])), expected: 0)
        progress.refusals = refusals
        progress.add(outcomes)
        done += progress.done
        refused += progress.refused
        refusals = progress.refusals
    }
}

// MARK: - Stored form

extension ChangeJob {
    /// The version of the stored form. A program leaves changes of another version alone.
    private static let version = 1

    /// - Returns: nil if this version cannot read the bytes, or not all of them.
    package init?(_ bytes: [UInt8]) {
        guard let json = try? JSONValue(parsing: bytes), json["v"].map({ $0.intValue == Self.version }) ?? true,
            let by = json["by"]?.stringValue, let expected = json["expected"]?.intValue,
            let kind = ChangeKind.allCases.first(where: { $0.verb == json["kind"]?.stringValue }),
            let target = Target(query: json["query"], ids: json["ids"])
        else { return nil }
        let spread = json["spread"]?.intValue.map { Duration.milliseconds($0) }
        if let spread {
            do { try TimeLimit.check(spread, "spread") } catch { return nil }
        }
        self.init(
            kind,
            target,
            spread: spread,
            reason: json["reason"]?.stringValue ?? "",
            by: by,
            from: json["from"]?.stringValue ?? "",
            expected: expected
        )
    }

    package var bytes: [UInt8] {
        var (query, ids): (JSONValue, JSONValue) = (nil, nil)
        switch target {
        case .matching(let text): query = .string(text)
        case .marked(let addresses): ids = .array(addresses.map(\.stored))
        }
        let json: JSONValue = [
            "v": .number(Self.version), "kind": .string(kind.verb), "query": query, "ids": ids,
            "spread": JSONValue(spread?.wholeMilliseconds), "reason": .string(reason), "by": .string(by),
            "from": .string(from), "expected": .number(expected),
        ]
        return Array(json.serialized().utf8)
    }
}

extension ChangeJob.Target {
    fileprivate init?(query: JSONValue?, ids: JSONValue?) {
        if let text = query?.stringValue {
            self = .matching(text)
            return
        }
        guard let ids = ids?.arrayValue, ids.count <= ChangeJob.markedLimit else { return nil }
        let addresses = ids.compactMap { OperationAddress(stored: $0) }
        guard !addresses.isEmpty, addresses.count == ids.count else { return nil }
        self = .marked(addresses)
    }
}

extension ChangeJobProgress {
    package init?(_ bytes: [UInt8]) {
        guard let json = try? JSONValue(parsing: bytes), let done = json["done"]?.intValue,
            let refused = json["refused"]?.intValue, done >= 0, refused >= 0
        else { return nil }
        (self.done, self.refused) = (done, refused)
        refusals = (json["refusals"]?.arrayValue ?? []).compactMap { refusal in
            guard let id = refusal[0]?.stringValue.flatMap({ OperationID($0) }) else { return nil }
            return BulkRefusal(id: id, queue: refusal[2]?.stringValue, reason: refusal[1]?.stringValue ?? "")
        }
        for start in json["starts"]?.arrayValue ?? [] {
            if let queue = start[0]?.stringValue, let sequence = start[1]?.intValue { starts[queue] = Int64(sequence) }
        }
        queues = (json["queues"]?.arrayValue ?? []).compactMap(\.stringValue)
        pending = (json["pending"]?.arrayValue ?? []).compactMap { OperationAddress(stored: $0) }
        switch json["end"]?.stringValue {
        case "complete": end = .complete
        case "stopped": end = .stopped
        case let text?: end = .failed(text)
        case nil: end = nil
        }
    }

    package var bytes: [UInt8] {
        let ending: String? =
            switch end {
            case .complete: "complete"
            case .stopped: "stopped"
            case .failed(let text): text
            case nil: nil
            }
        let refusals = refusals.map { refusal -> JSONValue in
            .array(
                [.string(refusal.id.description), .string(refusal.reason)] + (refusal.queue.map { [.string($0)] } ?? [])
            )
        }
        // An ended change needs no more starts.
        let starts = (end == nil ? starts : [:]).sorted { $0.key < $1.key }
        let json: JSONValue = [
            "done": .number(done), "refused": .number(refused), "refusals": .array(refusals),
            "starts": .array(starts.map { .array([.string($0.key), .number($0.value)]) }),
            "queues": .array((end == nil ? queues : Array(queues.prefix(Self.keptQueues))).map { .string($0) }),
            "pending": .array(pending.map(\.stored)),
            "end": JSONValue(ending),
        ]
        return Array(json.serialized().utf8)
    }
}

extension OperationAddress {
    /// `QUEUE/ID`
    fileprivate var stored: JSONValue { .string("\(queue)/\(id)") }

    fileprivate init?(stored json: JSONValue) {
        guard let text = json.stringValue else { return nil }
        self.init(text)
    }

    /// Reads `QUEUE/ID`.
    package init?(_ text: String) {
        guard let slash = text.lastIndex(of: "/"), let id = OperationID(String(text[text.index(after: slash)...]))
        else { return nil }
        let queue = String(text[..<slash])
        guard NameRule.allows(queue) else { return nil }
        self.init(queue: queue, id: id)
    }
}
