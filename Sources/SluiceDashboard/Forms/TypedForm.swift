import Operations
import TerminalText

/// The values of a form, and what is wrong with them.
struct TypedForm: Sendable {
    private(set) var fields: FormFields
    private(set) var errors: [String: String] = [:]

    init(_ fields: FormFields) { self.fields = fields }

    /// The value of a field, with the line breaks of Unix: browsers send others.
    func text(_ name: String) -> String { (fields[name] ?? "").replacing("\r\n", with: "\n") }

    /// The value of a field of one line, without spaces around it.
    func line(_ name: String) -> String {
        let text = text(name)
        let first = text.drop { $0.isWhitespace }
        return String(first[..<(first.lastIndex { !$0.isWhitespace }.map(first.index(after:)) ?? first.startIndex)])
    }

    /// The lines of a field, without empty ones.
    func lines(_ name: String) -> [String] { text(name).split(separator: "\n").map(String.init) }

    /// Says beside a field why it is refused. Of several messages, the first stays.
    mutating func refuse(_ name: String, _ message: String) { if errors[name] == nil { errors[name] = message } }

    /// Reads a field by a rule of the library, whose message is shown beside the field.
    mutating func read<Value>(_ name: String, _ rule: () throws -> Value) -> Value? {
        do { return try rule() } catch let error as OperationsError { refuse(name, error.message) } catch {
            refuse(name, "\(error)")
        }
        return nil
    }
}

extension TypedForm {
    /// The start in a form: a time to wait, or a time of day.
    enum Start { case delay(Duration), at(Int64) }

    mutating func priority() -> OperationPriority? {
        guard let priority = OperationPriority(rawValue: line("priority")) else {
            refuse("priority", "Choose a priority.")
            return nil
        }
        return priority
    }

    /// The start; nil if the field is empty or wrong.
    mutating func start() -> Start? {
        let text = line("start")
        guard !text.isEmpty else { return nil }
        return read("start") {
            guard text.contains("-") || text.contains(":") else {
                let delay = try DurationText.parse(text)
                try TimeLimit.check(delay, "the time to wait", least: .zero)
                return .delay(delay)
            }
            return .at(try TimeText.parse(text))
        }
    }

    /// The tags, one in a line.
    mutating func tags() -> [String] {
        let tags = lines("tags")
        _ = read("tags") { try OperationEnvelope(name: "tags", tags: tags).validate() }
        return tags
    }
}
