/// Why a text that somebody typed cannot be read.
package struct TextError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of text.
    package enum Code: String, Sendable, Hashable {
        case duration, size, time
    }

    package let code: Code
    /// One sentence: what was given and what would be right. Safe to print.
    package let message: String

    package var description: String { message }
}
