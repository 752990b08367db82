import Operations

/// The name of an operation as it is typed: an id, the end of an id, or the text of an `--id`. Each may have `QUEUE/`
/// before it.
package struct IDReference: Hashable, Sendable {
    package enum Part: Hashable, Sendable {
        case full(OperationID)
        /// The end of an id after `…`: at least six characters, upper case.
        case suffix(String)
        /// The text of an `--id`, or the end of an id if no operation has this `--id`.
        case text(String)
    }

    package static let shortest = 6
    private static let alphabet = Set("0123456789ABCDEFGHJKMNPQRSTVWXYZ")

    package var queue: String?
    package var part: Part

    package init(queue: String? = nil, _ part: Part) {
        self.queue = queue
        self.part = part
    }

    /// Reads `01J9ZM2Q…` (26 characters), `…7QK2MX`, `7QK2MX`, `import-2026`, `mail/7QK2MX`, `mail/import-2026`.
    ///
    /// - Returns: nil if the text is empty.
    package init?(_ text: String) {
        guard !text.isEmpty else { return nil }
        self = Self.marked(text[...]) ?? Self.placed(text)?.marked ?? IDReference(.text(text))
    }

    /// Whether a text can only be an id: a full one, or an end after a cut mark.
    static func isID(_ text: String) -> Bool { marked(text[...]) != nil }

    /// A full id, or an end after a cut mark; nil for a text with several meanings.
    private static func marked(_ text: Substring, in queue: String? = nil) -> IDReference? {
        if let id = OperationID(String(text)) { return IDReference(queue: queue, .full(id)) }
        let end = withoutCutMark(String(text))
        guard end.count < text.count, let suffix = suffix(end) else { return nil }
        return IDReference(queue: queue, .suffix(suffix))
    }

    /// The parts of `QUEUE/ID`.
    private static func placed(_ text: String) -> (queue: String, marked: IDReference?, rest: String)? {
        guard let slash = text.firstIndex(of: "/") else { return nil }
        let (queue, rest) = (String(text[..<slash]), text[text.index(after: slash)...])
        guard NameRule.allows(queue), !rest.isEmpty else { return nil }
        return (queue, marked(rest, in: queue), String(rest))
    }

    /// The end of an id in upper case, if the text looks like one.
    private static func suffix(_ text: String) -> String? {
        let suffix = text.uppercased()
        let isSuffix =
            suffix.count >= shortest && suffix.count < OperationID.characterCount
            && suffix.allSatisfy(alphabet.contains)
        return isSuffix ? suffix : nil
    }

    /// The end of an id without the mark that tables put before it.
    package static func withoutCutMark(_ text: String) -> String {
        for mark in ["…", "...", "~"] where text.hasPrefix(mark) { return String(text.dropFirst(mark.count)) }
        return text
    }

    /// The text to show: the id, or `…SUFFIX`.
    package var shown: String {
        let place = queue.map { $0 + "/" } ?? ""
        switch part {
        case .full(let id): return place + id.description
        case .suffix(let suffix): return place + "…" + suffix
        case .text(let text): return place + text
        }
    }

    /// Whether this names the operation, apart from its other meanings.
    package func isName(of id: OperationID, queue: String) -> Bool {
        guard self.queue ?? queue == queue else { return false }
        return if case .suffix(let suffix) = part { id.description.hasSuffix(suffix) } else { self.id == id }
    }

    /// The id, if it is known without a search.
    package var id: OperationID? {
        switch part {
        case .full(let id): id
        case .suffix: nil
        case .text(let text): TypedIDs.id(of: text)
        }
    }

    /// The possible meanings, the likeliest first. Each is searched for only if those before it find no operation.
    package var meanings: [IDReference] {
        guard case .text(let text) = part else { return [self] }
        var meanings = [IDReference(queue: queue, .full(TypedIDs.id(of: text)))]
        if let suffix = Self.suffix(text) { meanings.append(IDReference(queue: queue, .suffix(suffix))) }
        if let placed = Self.placed(text), queue == nil || queue == placed.queue {
            meanings += IDReference(queue: placed.queue, .text(placed.rest)).meanings
        }
        return meanings
    }
}
