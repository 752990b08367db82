import Operations

/// When to use colour: the values of the flag.
package enum ColorChoice: String, Sendable, CaseIterable {
    case auto, always, never
}

/// The meaning of a text, which decides its colour. The words always have the same meaning.
package enum TextRole: Sendable, Hashable, CaseIterable {
    case executing, finished, warning, dead, cancelled, dim, heading, plain

    /// The Select Graphic Rendition codes; `nil` for plain text.
    package var codes: String? {
        switch self {
        case .executing: "36"
        case .finished: "32"
        case .warning: "33"
        case .dead: "31"
        case .cancelled: "35"
        case .dim: "2"
        case .heading: "1"
        case .plain: nil
        }
    }
}

/// How to draw on one stream: with or without colour, with Unicode marks or ASCII letters.
package struct Style: Sendable, Hashable {
    /// Whether colour is used.
    package var usesColor: Bool
    /// Whether marks, bars and cuts are drawn in ASCII.
    package var usesASCII: Bool

    package init(usesColor: Bool = false, usesASCII: Bool = false) {
        self.usesColor = usesColor
        self.usesASCII = usesASCII
    }

    /// The style of a stream.
    ///
    /// Colour is on for a terminal unless `NO_COLOR` is set or `TERM` is `dumb`. `CLICOLOR_FORCE` turns colour on in
    /// any case, and a choice other than `auto` overrides everything. ASCII is used on request and, on a terminal, if
    /// the locale is not UTF-8.
    package init(
        color: ColorChoice = .auto,
        ascii: Bool = false,
        isTerminal: Bool,
        environment: [String: String]
    ) {
        usesColor = Self.decidesColor(color, isTerminal: isTerminal, environment: environment)
        usesASCII = ascii || (isTerminal && !Self.isUTF8(environment))
    }

    private static func decidesColor(
        _ choice: ColorChoice,
        isTerminal: Bool,
        environment: [String: String]
    ) -> Bool {
        switch choice {
        case .always: return true
        case .never: return false
        case .auto:
            if !["", "0"].contains(environment["CLICOLOR_FORCE"] ?? "") { return true }
            return isTerminal && (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
        }
    }

    /// The first locale variable that is set decides, as in POSIX.
    private static func isUTF8(_ environment: [String: String]) -> Bool {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        let name = (locale ?? "C").lowercased()
        return name.contains("utf-8") || name.contains("utf8")
    }

    /// The mark at the end of a text that was cut.
    package var cutMark: String { usesASCII ? "~" : "…" }

    /// The text in its role's colour. The text must be safe already.
    package func paint(_ text: String, _ role: TextRole) -> String {
        guard usesColor, !text.isEmpty, let codes = role.codes else { return text }
        return "\u{1B}[\(codes)m\(text)\u{1B}[0m"
    }

    /// The mark of a state, one cell wide, in colour.
    package func mark(_ state: OperationState) -> String { paint(state.mark(ascii: usesASCII), state.role) }

    /// The word of a state, in colour.
    package func word(_ state: OperationState) -> String { paint(state.rawValue, state.role) }

    /// The mark of a priority: one cell wide, in ASCII up to two; empty for normal priority unless in ASCII.
    package func mark(_ priority: OperationPriority) -> String { priority.mark(ascii: usesASCII) }
}
