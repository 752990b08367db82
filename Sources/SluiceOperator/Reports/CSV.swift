import TerminalText

/// Comma-separated values.
package enum CSV {
    /// The lines of a table.
    package static func lines(_ table: Table, showsHeader: Bool) -> [String] {
        let header = table.columns.map { cell($0.title.lowercased()) }.joined(separator: ",")
        return (showsHeader ? [header] : []) + table.rows.map { $0.map { cell(plain($0.text)) }.joined(separator: ",") }
    }

    /// Removes the separators from a number.
    private static func plain(_ text: String) -> String {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ",") }
            ? text.replacing(",", with: "") : text
    }

    /// A value, quoted if necessary. A leading quote mark stops spreadsheets from reading the value as a formula.
    package static func cell(_ text: String) -> String {
        let safe = SafeText.line(text)
        let isFormula = safe.first.map { "=+-@".contains($0) } ?? false
        let shown = isFormula && safe != "-" ? "'" + safe : safe
        return shown.contains { ",\"".contains($0) } ? "\"" + shown.replacing("\"", with: "\"\"") + "\"" : shown
    }
}
