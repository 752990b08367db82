import ArgumentParser

/// The format of stdout.
package enum OutputFormat: String, CaseIterable, Sendable, ExpressibleByArgument {
    /// Columns, fitted to the terminal.
    case table
    /// All columns.
    case wide
    /// One JSON document.
    case json
    /// One JSON object a line.
    case jsonl
    /// Comma-separated values with a header.
    case csv
    /// One full id a line.
    case id

    package var isJSON: Bool { self == .json || self == .jsonl }
}
