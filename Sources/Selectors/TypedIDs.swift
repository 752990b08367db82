import Operations
import Synchronization

/// The texts for which ids stand that this command was given: an error names what was typed, and not its hash.
package enum TypedIDs {
    /// Beyond so many, errors name ids.
    private static let most = 10_000
    private static let texts = Mutex<[String: String]>([:])

    /// The id of a text of an `--id`.
    package static func id(of text: String) -> OperationID {
        let id = OperationID(key: text)
        texts.withLock { texts in
            if texts.count < most { texts[id.description] = text }
        }
        return id
    }

    /// The message with the text behind each id that stands for one.
    package static func named(_ message: String) -> String {
        let texts = texts.withLock { $0 }
        guard !texts.isEmpty else { return message }
        return message.replacing(/[0-9A-HJKMNP-TV-Z]{26}/) { match in
            texts[String(match.0)].map { "\(match.0) (\(OperationsError.quoted($0)))" } ?? String(match.0)
        }
    }
}
