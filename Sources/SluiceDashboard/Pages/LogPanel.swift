import Operations
import SluiceOperator
import TerminalText

/// The newest lines of an operation's log.
struct LogPanel {
    let lines: [LogLine]
    /// The number of lines before the first one.
    let first: Int
    /// Whether lines may come.
    let isFollowed: Bool
    let file: Link
    let command: [String]
    let site: Site

    init(_ lines: [LogLine], from first: Int, isFollowed: Bool, file: Link, command: [String], _ site: Site) {
        (self.lines, self.first, self.isFollowed) = (lines, first, isFollowed)
        (self.file, self.command, self.site) = (file, command, site)
    }

    @MarkupBuilder var markup: Markup {
        if !lines.isEmpty {
            tag("section", .class("panel")) {
                tag("h2", text: first > 0 ? "Log from line \(first + 1)" : "Log")
                tag("pre", .class("log"), .named("tabindex", "0"), .named("data-end", "\(first + lines.count)")) {
                    Markup(block: lines.map(Self.text).joined(separator: "\n"))
                }
                tag("div", .class("under")) {
                    if isFollowed { follow }
                    tag("a", .href(file), .flag("download"), text: "Download")
                }
                CommandLineView(site).markup(command)
            }
        }
    }

    private static func text(_ line: LogLine) -> String {
        (line.at.map { TimeText.clock($0, fraction: true) + "  " } ?? "") + SafeText.line(line.text)
    }

    /// The button that stops the end of the log from being shown, and the number of lines since. The script shows it.
    private var follow: Markup {
        parts {
            tag(
                "button",
                .named("type", "button"),
                .class("quiet follow"),
                .flag("hidden"),
                .named("aria-pressed", "false"),
                text: "Stop following"
            )
            tag("span", .class("follow-news"), .named("role", "status")) { "" }
        }
    }
}
