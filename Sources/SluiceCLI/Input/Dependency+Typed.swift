import Operations
import Selectors

extension OperationDependency {
    /// Reads `ID`, `ID:run` or `ID:hold`, each optionally after `QUEUE/`. Any other text is the text of an `--id`.
    ///
    /// - Throws: `CLIError` with `.usage`.
    init(typed text: String) throws(CLIError) {
        let (name, policy) = try Self.parts(of: text)
        let reference = try IDReference(parsing: name)
        guard case .suffix = reference.part else {
            guard let location = Self.location(reference) else { throw Self.unreadable(text) }
            self.init(location.id, queue: location.queue, onFailure: policy)
            return
        }
        throw Self.unreadable(text)
    }

    /// Reads several dependencies, separated by commas.
    static func list(typed text: String) throws(CLIError) -> [OperationDependency] {
        var list: [OperationDependency] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            list.append(try OperationDependency(typed: part.trimmingPrefix(" ").description))
        }
        return list
    }

    /// Splits off a policy if the text after the last colon is a known one. The text of an `--id` may contain colons.
    private static func parts(of text: String) throws(CLIError) -> (name: String, policy: DependencyFailurePolicy) {
        guard let colon = text.lastIndex(of: ":") else { return (text, .cancel) }
        let (name, word) = (String(text[..<colon]), String(text[text.index(after: colon)...]))
        if let policy = DependencyFailurePolicy(rawValue: word) { return (name, policy) }
        guard OperationID(name) != nil else { return (text, .cancel) }
        throw .usage(
            "unknown policy \(OperationsError.quoted(word)) behind \(name)",
            fix: "\(name):run, or cancel, or hold"
        )
    }

    private static func location(_ reference: IDReference) -> (id: OperationID, queue: String?)? {
        switch reference.part {
        case .full(let id): return (id, reference.queue)
        case .suffix: return nil
        case .text(let text):
            guard let slash = text.firstIndex(of: "/"), NameRule.allows(String(text[..<slash])) else {
                return (TypedIDs.id(of: text), reference.queue)
            }
            let rest = String(text[text.index(after: slash)...])
            return rest.isEmpty ? nil : (TypedIDs.id(of: rest), String(text[..<slash]))
        }
    }

    private static func unreadable(_ text: String) -> CLIError {
        .usage(
            "\(OperationsError.quoted(text)) does not name the operation to wait for",
            fix:
                "give its full id, the text of its --id, or QUEUE/ID, for example --after 01J9ZM2QW3N8B5T4D7K6R1XYPE:run"
        )
    }
}
