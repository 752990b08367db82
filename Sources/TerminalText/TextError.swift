/// An error in a text that a user typed.
package struct TextError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of text.
    package enum Code: String, Sendable, Hashable {
        case duration, size, time
    }

    package let code: Code
    /// One sentence with the given text and the expected form. Safe to print.
    package let message: String

    package var description: String { message }
}
