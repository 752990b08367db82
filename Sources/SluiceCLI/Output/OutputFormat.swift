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
    /// Whether the format is for people. Each command has these formats.
    package var isText: Bool { self == .table || self == .wide }
}

/// The formats for programs that a command can have.
extension Set<OutputFormat> {
    package static let textOnly: Self = []
    package static let json: Self = [.json, .jsonl]
    package static let jsonAndIDs: Self = [.json, .jsonl, .id]
    package static let jsonAndCSV: Self = [.json, .jsonl, .csv]
    /// The formats for endless output, line by line.
    package static let lines: Self = [.jsonl, .csv, .id]
    package static let all: Self = [.json, .jsonl, .csv, .id]
}

extension Settings {
    /// Fits the settings to a command with these formats for programs.
    ///
    /// A format from the environment or a file is a preference. A command without that format prints its text, or
    /// `jsonl` in place of `json`.
    ///
    /// - Throws: `.usage` for a format on the command line that the command does not have.
    package func fitted(to formats: Set<OutputFormat>) throws(CLIError) -> Settings {
        let format = output.content
        guard !format.isText, !formats.contains(format) else { return self }
        if case .flag = output.origin {
            let known = OutputFormat.allCases.filter { $0.isText || formats.contains($0) }.map(\.rawValue)
            let names = known.dropLast().joined(separator: ", ") + " and " + (known.last ?? "")
            throw .usage(
                "this command does not print \(format.rawValue); it has \(names)",
                fix: "-o \(formats.contains(.json) || formats.isEmpty ? known[formats.isEmpty ? 0 : 2] : "jsonl")"
            )
        }
        var settings = self
        // Programs that read a JSON document usually read JSON lines as well.
        let next: OutputFormat = format == .json && formats.contains(.jsonl) ? .jsonl : .table
        settings.output = Value(content: next, origin: next == .table ? .builtIn : output.origin)
        return settings
    }
}
