import Operations

// MARK: - Places

extension OperationQuery {
    /// The order in which states are listed: executing first, ended last.
    private static let order: [OperationState] = [
        .executing, .retrying, .ready, .scheduled, .blocked, .dead, .cancelled, .expired, .finished,
    ]

    /// The states that the query allows, in the order of lists.
    package var states: [OperationState] {
        Self.order.filter { state in terms.allSatisfy { $0.allows(state) } }
    }

    /// Returns the known queues that the query allows.
    package func queues(of known: [String]) -> [String] {
        known.filter { queue in terms.allSatisfy { $0.field != .queue || $0.matches(queue) != $0.isNegated } }
    }

    /// Returns a sentence for each queue name in the query that is not among the known ones.
    package func unknownQueues(of known: [String]) -> [String] {
        let names = terms.filter { $0.field == .queue && !$0.isNegated }.flatMap { term -> [String] in
            if case .texts(let values) = term.condition { values.compactMap(\.exactText) } else { [] }
        }
        return names.filter { !known.contains($0) }.map { name in
            let near = Suggestion.nearest(to: name, among: known).map { "; did you mean \"\($0)\"?" } ?? ""
            return "there is no queue \(OperationsError.quoted(name))\(near)"
        }
    }

    /// Whether operations must also be compared one by one, because the query has more than states and queues.
    package var filtersRows: Bool { terms.contains { $0.field != .state && $0.field != .queue } }

    /// Whether no term selects something: there is none, or each one excludes, or matches everything like `queue:*`.
    package var isUnlimited: Bool { terms.allSatisfy { $0.isNegated || $0.matchesEverything } }

    /// Text that the envelope of each match contains; nil if the query requires no such text.
    ///
    /// - Parameter view: with hidden values, arguments are not searched as they are stored: a search would tell them.
    package func sought(_ view: PayloadView) -> SoughtText? { terms.lazy.compactMap { $0.sought(view) }.first }

    /// Whether an ended operation is too old for the query, and with it all operations that ended before.
    package func endsWalk(at detail: OperationDetail, now: Int64) -> Bool {
        guard detail.state.isTerminal, detail.state != .cancelled, detail.record.endedAt > 0 else { return false }
        let age = now - detail.record.endedAt
        return terms.contains { term in
            guard case .ages(let ranges) = term.condition, !term.isNegated else { return false }
            return ranges.allSatisfy { $0.below.map { age >= $0 } ?? false }
        }
    }
}

// MARK: - Operations

/// Whether an operation matches a query.
package enum QueryMatch: Sendable, Equatable {
    case yes, no
    /// Unknown: the arguments are encrypted, and no key reads them.
    case unread
}

extension OperationQuery {
    /// Compares an operation with the query. Cheap terms are compared first.
    ///
    /// - Parameters:
    ///   - now: milliseconds of server time, for ages.
    ///   - view: the keys that read arguments, and the fields to hide. Hidden values match as `***`.
    package func match(_ detail: OperationDetail, now: Int64, view: PayloadView = PayloadView()) -> QueryMatch {
        for term in terms {
            if case .groups = term.condition { return .no }
            if let holds = term.holds(detail, now: now), holds == term.isNegated { return .no }
        }
        guard terms.contains(where: \.readsEnvelope) else { return .yes }
        return matchEnvelope(detail, view)
    }

    /// Whether an operation is known to match the query.
    package func matches(_ detail: OperationDetail, now: Int64, view: PayloadView = PayloadView()) -> Bool {
        match(detail, now: now, view: view) == .yes
    }

    private func matchEnvelope(_ detail: OperationDetail, _ view: PayloadView) -> QueryMatch {
        let bytes = detail.record.envelope
        // Excludes most operations of a long walk without parsing them.
        for term in terms where term.sought(view)?.mayBe(in: bytes) == false { return .no }
        let envelope =
            (try? OperationEnvelope(bytes)) ?? OperationEnvelope(name: "unreadable", arguments: bytes)
        for term in terms {
            if let holds = term.holds(envelope), holds == term.isNegated { return .no }
        }
        guard terms.contains(where: \.readsArguments) else { return .yes }
        return matchArguments(detail, envelope, view)
    }

    private func matchArguments(
        _ detail: OperationDetail,
        _ envelope: OperationEnvelope,
        _ view: PayloadView
    ) -> QueryMatch {
        let arguments = ReadArguments(detail, envelope, view)
        var result = QueryMatch.yes
        for term in terms where term.readsArguments {
            switch term.holds(detail, envelope, arguments) {
            case nil: result = .unread
            case term.isNegated: return .no
            default: break
            }
        }
        return result
    }
}

/// The arguments of an operation after decryption and redaction.
private struct ReadArguments {
    /// nil if the arguments are encrypted and no key reads them.
    let bytes: [UInt8]?
    let value: JSONValue?

    init(_ detail: OperationDetail, _ envelope: OperationEnvelope, _ view: PayloadView) {
        var clear: [UInt8]? = envelope.arguments
        if envelope.encryptionKey != nil {
            let id = detail.record.header.id
            clear = try? view.seal?.open(detail.record.envelope, id: id, queue: detail.queue).arguments
        }
        bytes = clear.map { bytes in
            let redacted = view.redaction.applied(to: bytes, .arguments)
            return view.comparesShown ? URLPasswords.masked(json: redacted) : redacted
        }
        let limits = JSONLimits(maximumBytes: 4 << 20, maximumDepth: 512, duplicateKeys: .lastWins)
        value = bytes.flatMap { try? JSONValue(parsing: $0, limits: limits) }
    }
}

extension OperationQuery.Term {
    /// Whether the term, by its form, matches every operation.
    fileprivate var matchesEverything: Bool {
        switch condition {
        case .texts(let values) where field == .text: values.contains { $0.pieces.allSatisfy(\.isEmpty) }
        case .texts(let values) where [.queue, .name].contains(field):
            values.contains { $0.pieces.count > 1 && $0.matches("") }
        case .operations(let names):
            names.typed.contains { $0.pattern.pieces.count > 1 && $0.pattern.matches("") }
        default: false
        }
    }

    /// Whether one of the values matches the text.
    package func matches(_ text: String) -> Bool {
        if case .texts(let values) = condition { values.contains { $0.matches(text) } } else { false }
    }

    fileprivate func allows(_ state: OperationState) -> Bool {
        if case .states(let states) = condition { states.contains(state) != isNegated } else { true }
    }

    fileprivate var readsEnvelope: Bool { [.name, .tag, .schedule].contains(field) || readsArguments }
    fileprivate var readsArguments: Bool { field == .args || field == .text }

    /// Whether the term holds without its negation; nil if the record's head does not decide.
    fileprivate func holds(_ detail: OperationDetail, now: Int64) -> Bool? {
        switch (field, condition) {
        case (.queue, _): matches(detail.queue)
        case (.limitKey, _): detail.limitKey.map(matches) ?? false
        case (.worker, _): matches(detail.worker ?? "")
        case (.unique, _): detail.uniqueKey.map(matches) ?? false
        case (.error, .texts(let values)): detail.lastError.map { $0.contains(oneOf: values) } ?? false
        case (.signature, _): detail.signature.map(matches) ?? false
        case (_, .operations(let names)): names.matches(detail.record.header.id, queue: detail.queue)
        case (_, .states(let states)): states.contains(detail.state)
        case (_, .priorities(let priorities)): priorities.contains(detail.record.header.priority)
        case (_, .ages(let ranges)): ranges.contains { $0.contains(now - detail.since) }
        default: nil
        }
    }

    /// Whether the term holds without its negation; nil if name, tags and schedule do not decide.
    fileprivate func holds(_ envelope: OperationEnvelope) -> Bool? {
        switch field {
        case .name: matches(envelope.name)
        case .tag: envelope.tags.contains(where: matches)
        case .schedule: envelope.schedule.map(matches) ?? false
        default: nil
        }
    }

    /// Whether the term holds without its negation; nil if the arguments cannot be read, or for other conditions.
    fileprivate func holds(
        _ detail: OperationDetail,
        _ envelope: OperationEnvelope,
        _ arguments: ReadArguments
    ) -> Bool? {
        switch condition {
        case .arguments(let path, let values):
            guard arguments.bytes != nil else { return nil }
            return arguments.value?.value(at: path).map { value in values.contains { $0.matches(value) } } ?? false
        case .numbers(let path, let ranges):
            guard arguments.bytes != nil else { return nil }
            return arguments.value?.value(at: path).map { value in ranges.contains { $0.contains(value) } } ?? false
        case .texts(let values) where field == .text:
            let texts = [envelope.name, detail.lastError ?? "", detail.progress?.message ?? ""] + envelope.tags
            if texts.contains(where: { $0.lowercased().contains(oneOf: values) }) { return true }
            guard let bytes = arguments.bytes else { return nil }
            return String(decoding: bytes, as: UTF8.self).lowercased().contains(oneOf: values)
        default: return nil
        }
    }

    /// Text that an envelope must contain for the term to hold; nil if no text is required.
    fileprivate func sought(_ view: PayloadView) -> SoughtText? {
        guard !isNegated else { return nil }
        switch condition {
        case .arguments where view.redaction != .none: return nil
        // The shown text of a password is not the stored one.
        case .arguments(_, let values) where view.comparesShown && values.contains { $0.text.contains("***") }:
            return nil
        case .arguments(_, let values): return SoughtText(values.map(\.pieces))
        // An unreadable envelope has this name, but does not contain it.
        case .texts(let values) where field == .name && values.contains { $0.matches("unreadable") }: return nil
        case .texts(let values) where [.name, .tag, .schedule].contains(field): return SoughtText(values.map(\.pieces))
        default: return nil
        }
    }
}

extension String {
    /// Whether the text, which must be in lower case, contains one of the patterns.
    fileprivate func contains(oneOf patterns: [TextPattern]) -> Bool { patterns.contains { $0.isContained(in: self) } }
}

extension OperationQuery.NumberRange {
    /// Compares with a JSON number, or with each element of an array.
    fileprivate func contains(_ value: JSONValue) -> Bool {
        if let elements = value.arrayValue { return elements.contains { contains($0) } }
        guard case .number = value, let number = value.doubleValue else { return false }
        return contains(number)
    }
}

extension TextPattern {
    /// Compares with a JSON value, or with each element of an array.
    fileprivate func matches(_ value: JSONValue) -> Bool {
        switch value {
        case .null: matches("null")
        case .bool(let flag): matches(flag ? "true" : "false")
        case .number(let number): matches(number.literal)
        case .string(let text): matches(text)
        case .array(let elements): elements.contains { matches($0) }
        case .object: pieces == ["", ""]
        }
    }
}

extension OperationDetail {
    /// The signature of the last error.
    fileprivate var signature: String? {
        errors.last.map { ErrorSignature.of(type: $0.failure.type, message: $0.failure.message) }
    }

    /// The last error in lower case: its type and its message.
    fileprivate var lastError: String? {
        errors.last.map { $0.failure.sentence.lowercased() }
    }

    /// The start of an executing operation, the end of an ended one, or the enqueue of any other.
    package var since: Int64 {
        switch state {
        case .executing: record.startedAt > 0 ? record.startedAt : record.enqueuedAt
        case .finished, .dead, .cancelled, .expired: record.endedAt > 0 ? record.endedAt : record.enqueuedAt
        case .ready, .scheduled, .blocked, .retrying: record.enqueuedAt
        }
    }
}
