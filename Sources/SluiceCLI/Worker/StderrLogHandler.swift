import Foundation
import Logging
import Operations
import TerminalText

/// The format of a worker's log.
package enum LogFormat: String, CaseIterable, Sendable {
    /// `12:04:31.204 info  finished  queue=mail operation.name=SendEmail`
    case text
    /// One object a line.
    case json
}

/// Writes log lines to stderr, without control characters.
package struct StderrLogHandler: LogHandler {
    package var logLevel: Logger.Level
    package var metadata: Logger.Metadata = [:]
    private let format: LogFormat
    private let style: Style
    private let write: @Sendable (String) -> Void

    package init(
        format: LogFormat,
        level: Logger.Level,
        style: Style,
        write: @escaping @Sendable (String) -> Void
    ) {
        self.format = format
        self.style = style
        self.write = write
        logLevel = level
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        var all = metadata.merging(event.metadata ?? [:]) { $1 }
        if let error = event.error { all["error"] = "\(error)" }
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        write(format == .json ? json(event, all, now: now) : text(event, all, now: now))
    }

    private func text(_ event: LogEvent, _ metadata: Logger.Metadata, now: Int64) -> String {
        let level = event.level.rawValue.padded(toWidth: 8)
        var line = TimeText.clock(now, fraction: true) + " " + style.paint(level, event.level.role)
        line += SafeText.line(event.message.description)
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
            line += style.paint(" \(SafeText.line(key))=", .dim) + Self.quoted(value.description)
        }
        return line
    }

    /// Quotes a text that is empty or has spaces.
    private static func quoted(_ text: String) -> String {
        let safe = SafeText.line(text)
        return safe.isEmpty || safe.contains(" ") ? "\"" + safe.replacing("\"", with: "\\\"") + "\"" : safe
    }

    private func json(_ event: LogEvent, _ metadata: Logger.Metadata, now: Int64) -> String {
        let facts = metadata.sorted { $0.key < $1.key }.map { ($0.key, JSONValue.string($0.value.description)) }
        let object: JSONValue = [
            "v": 1,
            "time": .string(TimeText.rfc3339(now)),
            "level": .string(event.level.rawValue),
            "message": .string(event.message.description),
            "metadata": .object(JSONObject(facts)),
        ]
        return object.serialized()
    }
}

extension Logger.Level {
    fileprivate var role: TextRole {
        switch self {
        case .trace, .debug: .dim
        case .info, .notice: .plain
        case .warning: .warning
        case .error, .critical: .dead
        }
    }
}
