import TerminalText

/// The place for a worker's health: a file, or a port with HTTP.
enum HealthTarget: Equatable, Sendable {
    case file(path: String)
    case port(host: String, number: Int)

    /// Reads `8080` (on the loopback), `0.0.0.0:8080`, `[::]:8080` or the path of a file. `./8080` is a file.
    ///
    /// - Throws: `CLIError` with `.usage`.
    init(parsing text: String) throws(CLIError) {
        guard !text.isEmpty else { throw Self.wrong(text, "is empty") }
        if text.allSatisfy({ $0.isASCII && $0.isNumber }) {
            self = .port(host: "127.0.0.1", number: try Self.number(text[...], of: text))
        } else if !text.contains("/"), let colon = text.lastIndex(of: ":") {
            let host = text[..<colon].trimmingBrackets
            guard !host.isEmpty else { throw Self.wrong(text, "names no address") }
            self = .port(host: host, number: try Self.number(text[text.index(after: colon)...], of: text))
        } else {
            self = .file(path: text)
        }
    }

    private static func number(_ digits: Substring, of text: String) throws(CLIError) -> Int {
        guard let number = Int(digits), (0...65_535).contains(number) else {
            throw wrong(text, "needs a port from 0 to 65535")
        }
        return number
    }

    private static func wrong(_ text: String, _ what: String) -> CLIError {
        .usage(
            "--health \"\(SafeText.line(text))\" \(what)",
            fix: "--health 8080, --health 0.0.0.0:8080 or --health /run/worker.json"
        )
    }
}

extension Substring {
    fileprivate var trimmingBrackets: String {
        hasPrefix("[") && hasSuffix("]") ? String(dropFirst().dropLast()) : String(self)
    }
}
