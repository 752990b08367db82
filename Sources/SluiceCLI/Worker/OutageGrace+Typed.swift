import Operations
import TerminalText
import WorkerRuntime

extension OutageGrace {
    /// Parses the values of `--outage-grace`: `10m`, `NAME=10m` and `queue:NAME=10m`.
    ///
    /// - Throws: `.usage` for a text in another form.
    init(typed texts: [String]) throws(CLIError) {
        self.init()
        for text in texts {
            let mark = text.lastIndex(of: "=")
            let grace = try Self.duration(mark.map { String(text[text.index(after: $0)...]) } ?? text, of: text)
            guard let mark else {
                standard = grace
                continue
            }
            let name = text[..<mark]
            if name.hasPrefix("queue:") {
                queues[String(name.dropFirst("queue:".count))] = grace
            } else {
                names[String(name)] = grace
            }
        }
    }

    private static func duration(_ text: String, of option: String) throws(CLIError) -> Duration {
        do { return try DurationText.parse(text) } catch {
            throw .usage(
                "--outage-grace \(OperationsError.quoted(option)): \(error.message)",
                fix: "--outage-grace 10m, --outage-grace import=0s or --outage-grace queue:billing=0s"
            )
        }
    }
}
