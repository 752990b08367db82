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
    /// The number of operations that the confirmed plan has counted.
    package var expected: Int

    package init(
        _ kind: ChangeKind,
        _ target: Target,
        spread: Duration? = nil,
        reason: String,
        by: String,
        expected: Int
    ) {
        (self.kind, self.target, self.spread) = (kind, target, spread)
        (self.reason, self.by, self.expected) = (reason, by, expected)
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
    package init?(_ bytes: [UInt8]) {
        guard let json = try? JSONValue(parsing: bytes), let by = json["by"]?.stringValue,
            let kind = ChangeKind.allCases.first(where: { $0.verb == json["kind"]?.stringValue })
        else { return nil }
        let target: Target
        if let query = json["query"]?.stringValue {
            target = .matching(query)
        } else {
            target = .marked((json["ids"]?.arrayValue ?? []).compactMap { OperationAddress(stored: $0) })
        }
        self.init(
            kind,
            target,
            spread: (json["spread"]?.intValue).map { .milliseconds($0) },
            reason: json["reason"]?.stringValue ?? "",
            by: by,
            expected: json["expected"]?.intValue ?? 0
        )
    }

    package var bytes: [UInt8] {
        var (query, ids): (JSONValue, JSONValue) = (nil, nil)
        switch target {
        case .matching(let text): query = .string(text)
        case .marked(let addresses): ids = .array(addresses.map(\.stored))
        }
        let json: JSONValue = [
            "kind": .string(kind.verb), "query": query, "ids": ids,
            "spread": JSONValue(spread?.wholeMilliseconds), "reason": .string(reason), "by": .string(by),
            "expected": .number(expected),
        ]
        return Array(json.serialized().utf8)
    }
}

extension ChangeJobProgress {
    package init?(_ bytes: [UInt8]) {
        guard let json = try? JSONValue(parsing: bytes) else { return nil }
        (done, refused) = (json["done"]?.intValue ?? 0, json["refused"]?.intValue ?? 0)
        refusals = (json["refusals"]?.arrayValue ?? []).compactMap { refusal in
            guard let id = refusal[0]?.stringValue.flatMap({ OperationID($0) }) else { return nil }
            return BulkRefusal(id: id, reason: refusal[1]?.stringValue ?? "")
        }
        for start in json["starts"]?.arrayValue ?? [] {
            if let queue = start[0]?.stringValue, let sequence = start[1]?.intValue { starts[queue] = Int64(sequence) }
        }
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
        let refusals = refusals.map { JSONValue.array([.string($0.id.description), .string($0.reason)]) }
        // An ended change needs no more starts.
        let starts = (end == nil ? starts : [:]).sorted { $0.key < $1.key }
        let json: JSONValue = [
            "done": .number(done), "refused": .number(refused), "refusals": .array(refusals),
            "starts": .array(starts.map { .array([.string($0.key), .number($0.value)]) }),
            "pending": .array(pending.map(\.stored)), "end": JSONValue(ending),
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
