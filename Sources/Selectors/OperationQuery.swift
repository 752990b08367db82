import Operations
import TerminalText

/// A query for operations.
///
/// Example: `state:retrying,dead queue:mail name:Send* age:>10m args.user.id:42 error:"timed out" -tag:test`.
///
/// Terms are joined by "and", values separated by commas by "or", and `-` or `!` negates. `*` outside quotes matches
/// any text. A word without a field is searched for in all texts of an operation.
package struct OperationQuery: Sendable, Equatable {
    package enum Field: String, CaseIterable, Sendable {
        case state, queue, name, tag, group, limitKey, priority, worker, age, id, unique, schedule, args, error,
            signature, text

        /// Returns the field of a typed name, in any case of letters.
        static func named(_ text: some StringProtocol) -> Field? {
            let name = text.lowercased()
            return allCases.first { $0.rawValue.lowercased() == name }
        }
    }

    package struct Term: Sendable, Equatable {
        package var field: Field
        package var condition: Condition
        package var isNegated: Bool

        package init(field: Field, condition: Condition, isNegated: Bool = false) {
            self.field = field
            self.condition = condition
            self.isNegated = isNegated
        }

        /// A term for any of these tags, without patterns.
        package static func tags(_ tags: [String]) -> Term {
            Term(field: .tag, condition: .texts(tags.map(TextPattern.init(exactly:))))
        }

        package static func states(_ states: some Sequence<OperationState>) -> Term {
            Term(field: .state, condition: .states(Set(states)))
        }
    }

    /// The values that a field is compared with.
    package enum Condition: Sendable, Equatable {
        case texts([TextPattern])
        case states(Set<OperationState>)
        case priorities(Set<OperationPriority>)
        /// Ages in milliseconds, without the bounds.
        case ages([AgeRange])
        /// The value at a path in the arguments.
        case arguments(path: [String], [TextPattern])
        /// The ranges for the number at a path in the arguments.
        case numbers(path: [String], [NumberRange])
        /// Groups as they are written, `[QUEUE/]ID`. Until they are resolved, nothing matches.
        case groups([String])
        /// Operations by id, and members of groups.
        case operations(OperationNames)
    }

    /// The numbers above or below a bound, with or without the bound itself.
    package struct NumberRange: Sendable, Equatable {
        fileprivate var comparison: Comparison
        fileprivate var bound: Double

        package func contains(_ number: Double) -> Bool { comparison.holds(number, bound) }
    }

    /// Ages above one bound and below another, in milliseconds.
    package struct AgeRange: Sendable, Equatable {
        package var above: Int64?
        package var below: Int64?

        package func contains(_ age: Int64) -> Bool { age > above ?? .min && age < below ?? .max }
    }

    package var terms: [Term]

    /// Makes a query of these terms. Without terms, every operation matches.
    package init(terms: [Term] = []) { self.terms = terms }

    /// Reads a query.
    ///
    /// - Throws: `QueryError` with the word in its message.
    package init(parsing text: String) throws(QueryError) {
        terms = try QueryWords.split(text).map { word throws(QueryError) in try Term(word) }
    }

    /// Reads the words of a command line as one query.
    package init(parsing words: [String]) throws(QueryError) { try self.init(parsing: words.joined(separator: " ")) }

    /// Whether a word of a command line is a term with a field. The term may be negated.
    package static func isTerm(_ word: String) -> Bool {
        guard let colon = word.firstIndex(of: ":") else { return false }
        let name = word[..<colon].drop { $0 == "-" || $0 == "!" }
        return Field.named(name) != nil || name.hasPrefix("args.")
    }
}

// MARK: - Parsing

extension OperationQuery.Term {
    package typealias Field = OperationQuery.Field

    fileprivate init(_ word: QueryWord) throws(QueryError) {
        isNegated = word.isNegated
        (field, condition) = try Self.meaning(word)
    }

    private static func meaning(_ word: QueryWord) throws(QueryError) -> (Field, OperationQuery.Condition) {
        guard let written = word.field else {
            if !word.isQuoted, word.values.count == 1, IDReference.isID(word.values[0].text) {
                return (.id, .operations(OperationNames(typed: word.values.map(OperationNames.Typed.init))))
            }
            return (.text, try searched(word))
        }
        let parts = written.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard let field = Field.named(parts[0]) else { throw unknownField(String(parts[0]), word) }
        guard field == .args ? !word.path.isEmpty && !word.path.contains("") : parts.count == 1 else {
            throw QueryError(
                "\(OperationsError.quoted(written)) is not a field",
                fix: field == .args
                    ? "args.PATH:VALUE like args.user.id:42 or args.\"a.b\":42" : "\(field.rawValue):VALUE"
            )
        }
        guard word.isQuoted || !word.values.contains(where: { $0.pieces == [""] }) else {
            throw QueryError(
                "\"\(written):\" has no value" + (word.values.count > 1 ? " at a comma" : ""),
                fix: "\(written):VALUE"
            )
        }
        switch field {
        case .state: return (field, .states(Set(try word.values.map(state))))
        case .priority: return (field, .priorities(Set(try word.values.map(priorities).joined())))
        case .age: return (field, .ages(try word.values.map(age)))
        case .args: return (field, try arguments(word))
        case .group: return (field, .groups(try word.values.map(group)))
        case .id: return (field, .operations(OperationNames(typed: word.values.map(OperationNames.Typed.init))))
        case .error, .text: return (field, .texts(word.values.map { $0.lowercased() }))
        case .queue, .name, .tag, .limitKey, .worker, .unique, .schedule, .signature:
            try refuseComparison(word, of: field.rawValue)
            return (field, .texts(word.values))
        }
    }

    /// Refuses a comparison before a value of a text field, which would silently find nothing.
    private static func refuseComparison(_ word: QueryWord, of field: String) throws(QueryError) {
        guard !word.isQuoted, let value = word.values.first(where: { "<>".contains($0.text.first ?? " ") }) else {
            return
        }
        throw QueryError(
            "\(field): compares texts and does not support < and >: \(OperationsError.quoted(value.text))",
            fix:
                "use < and > with priority:, age: or args.PATH:; quote a text that begins with them: '\(field):\"\(value.text)\"'"
        )
    }

    /// Reads texts and numbers as they are, or comparisons with numbers.
    private static func arguments(_ word: QueryWord) throws(QueryError) -> OperationQuery.Condition {
        let comparisons = word.values.map { Comparison.split($0.text) }
        guard !word.isQuoted, comparisons.contains(where: { $0.0 != .equal }) || word.values.contains(where: isEquation)
        else { return .arguments(path: word.path, word.values) }
        let ranges = comparisons.compactMap { comparison, text in
            comparison == .equal
                ? nil : Double(text).map { OperationQuery.NumberRange(comparison: comparison, bound: $0) }
        }
        guard ranges.count == comparisons.count else {
            let path = "args." + word.path.joined(separator: ".")
            throw QueryError(
                "\(OperationsError.quoted(word.source)) does not compare with a number",
                fix: "\(path):42 (equal), -\(path):42 (not equal), \(path):>41, or quotes for a text: '\(path):\">x\"'"
            )
        }
        return .numbers(path: word.path, ranges)
    }

    /// Whether a value begins like an equation of another language.
    private static func isEquation(_ value: TextPattern) -> Bool {
        ["=", "!=", "~"].contains { value.text.hasPrefix($0) }
    }

    /// Reads a word without a field. A state without `state:` is probably a mistake.
    private static func searched(_ word: QueryWord) throws(QueryError) -> OperationQuery.Condition {
        if !word.isQuoted, word.values.count == 1, let text = word.values[0].exactText,
            OperationState(rawValue: text.lowercased()) != nil
        {
            throw QueryError(
                "\(OperationsError.quoted(text)) is a state, not a term of a query",
                fix: "state:\(text.lowercased()), or text:\(text) to search for the word"
            )
        }
        return .texts(word.values.map { $0.lowercased() })
    }

    private static func unknownField(_ name: String, _ word: QueryWord) -> QueryError {
        let fields = Field.allCases.map { $0 == .args ? "args.PATH" : $0.rawValue }
        let near = Suggestion.nearest(to: name.lowercased(), among: Field.allCases.map(\.rawValue))
        return QueryError(
            "unknown field \(OperationsError.quoted(name))" + (near.map { "; did you mean \"\($0)\"?" } ?? ""),
            fix: "\(fields.joined(separator: ": ")):, or quotes for a text with a colon: '\"\(word.source)\"'"
        )
    }

    private static func state(_ value: TextPattern) throws(QueryError) -> OperationState {
        if let state = OperationState(rawValue: value.text.lowercased()) { return state }
        let states = OperationState.allCases.map(\.rawValue)
        let near = Suggestion.nearest(to: value.text, among: states).map { "; did you mean \"\($0)\"?" } ?? ""
        throw QueryError(
            "unknown state \(OperationsError.quoted(value.text))\(near)",
            fix: states.joined(separator: ", ")
        )
    }

    private static func group(_ value: TextPattern) throws(QueryError) -> String {
        if let text = value.exactText { return text }
        throw QueryError(
            "group: takes ids, not patterns: \(OperationsError.quoted(value.text))",
            fix: "group:ID or group:QUEUE/ID"
        )
    }

    private static func priorities(_ value: TextPattern) throws(QueryError) -> Set<OperationPriority> {
        let (comparison, text) = Comparison.split(value.text)
        let word = text.lowercased().filter { $0 != "-" && $0 != "_" }
        guard let priority = OperationPriority.allCases.first(where: { $0.rawValue.lowercased() == word }) else {
            let names = OperationPriority.allCases.map(\.rawValue)
            let near = Suggestion.nearest(to: word, among: names).map { "; did you mean \"\($0)\"?" } ?? ""
            throw QueryError(
                "unknown priority \(OperationsError.quoted(text))\(near)",
                fix: names.joined(separator: ", ") + ", or priority:>=high"
            )
        }
        return Set(OperationPriority.allCases.filter { comparison.holds($0, priority) })
    }

    private static func age(_ value: TextPattern) throws(QueryError) -> OperationQuery.AgeRange {
        let (comparison, text) = Comparison.split(value.text)
        let milliseconds: Int64
        do { milliseconds = Int64(try DurationText.parse(text).wholeMilliseconds) } catch {
            throw QueryError(error.message, fix: "age:>10m")
        }
        switch comparison {
        case .equal:
            throw QueryError(
                "an age needs a comparison: \(OperationsError.quoted(value.text))",
                fix: "age:>\(text) or age:<\(text)"
            )
        case .above: return OperationQuery.AgeRange(above: milliseconds)
        case .notBelow: return OperationQuery.AgeRange(above: milliseconds - 1)
        case .below: return OperationQuery.AgeRange(below: milliseconds)
        case .notAbove: return OperationQuery.AgeRange(below: milliseconds + 1)
        }
    }
}

/// A comparison before a value.
private enum Comparison: String, CaseIterable, Sendable {
    case notBelow = ">="
    case notAbove = "<="
    case above = ">"
    case below = "<"
    case equal = "="

    static func split(_ text: String) -> (Comparison, String) {
        for comparison in allCases where text.hasPrefix(comparison.rawValue) {
            return (comparison, String(text.dropFirst(comparison.rawValue.count)))
        }
        return (.equal, text)
    }

    func holds<Value: Comparable>(_ left: Value, _ right: Value) -> Bool {
        switch self {
        case .notBelow: left >= right
        case .notAbove: left <= right
        case .above: left > right
        case .below: left < right
        case .equal: left == right
        }
    }
}
