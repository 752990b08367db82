import Operations
import Synchronization

/// The typed `--id` texts of this command. Errors then show the text next to its hash.
package enum TypedIDs {
    /// The most texts that are stored. Errors show other ids without a text.
    private static let most = 10_000
    private static let texts = Mutex<[String: String]>([:])

    /// Returns the id of an `--id` text, and stores the text.
    package static func id(of text: String) -> OperationID {
        let id = OperationID(key: text)
        texts.withLock { texts in
            if texts.count < most { texts[id.description] = text }
        }
        return id
    }

    /// Returns the message with the typed text after each id that has one.
    package static func named(_ message: String) -> String {
        let texts = texts.withLock { $0 }
        guard !texts.isEmpty else { return message }
        return message.replacing(/[0-9A-HJKMNP-TV-Z]{26}/) { match in
            texts[String(match.0)].map { "\(match.0) (\(OperationsError.quoted($0)))" } ?? String(match.0)
        }
    }
}
