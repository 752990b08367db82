import TerminalText

/// A piece of HTML.
///
/// Markup is made only from elements and from text that is escaped where it is made. No initializer takes raw HTML, so
/// text from operations cannot become markup.
struct Markup: Sendable, Equatable {
    fileprivate(set) var html: String

    static let empty = Markup(html: "")

    fileprivate init(html: String) { self.html = html }

    /// Text in one line. Control characters and bidirectional controls become visible, as in the terminal.
    init(text: String) { html = Self.escaped(SafeText.line(text)) }

    /// Text that keeps its line breaks and tabs, for logs, arguments and results.
    init(block text: String) { html = Self.escaped(SafeText.log(text)) }

    /// Text that is shown as it is, for values of form fields, which must come back unchanged.
    fileprivate init(unchanged text: String) { html = Self.escaped(text) }

    /// Text that a person edits in a `textarea`. A browser drops the first line break there, so there is one more.
    init(typed text: String) { self.init(unchanged: "\n" + text) }

    static func + (left: Markup, right: Markup) -> Markup { Markup(html: left.html + right.html) }

    private static func escaped(_ text: String) -> String {
        guard text.utf8.contains(where: isSpecial) else { return text }
        var escaped = ""
        escaped.reserveCapacity(text.utf8.count + 32)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            // A parser would replace this character in text, and end the document's trust in attributes.
            case "\0": escaped += "\u{FFFD}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    private static func isSpecial(_ byte: UInt8) -> Bool { [0x22, 0x26, 0x27, 0x3C, 0x3E, 0x00].contains(byte) }
}

/// An attribute of an element. Its value is always escaped.
struct Attribute: Sendable {
    fileprivate let html: String

    private init(_ name: StaticString, _ value: Markup) { html = " \(name)=\"\(value.html)\"" }
    private init(_ name: StaticString) { html = " \(name)" }

    /// An attribute that needs no rule of its own, such as `aria-label`.
    static func named(_ name: StaticString, _ value: String) -> Attribute { Attribute(name, Markup(text: value)) }
    /// An attribute without a value, such as `checked`.
    static func flag(_ name: StaticString) -> Attribute { Attribute(name) }
    static func `class`(_ value: String) -> Attribute { named("class", value) }
    static func id(_ value: String) -> Attribute { named("id", value) }
    static func title(_ value: String) -> Attribute { named("title", value) }
    static func name(_ value: StaticString) -> Attribute { named("name", "\(value)") }
    /// The value of a form field, which the browser sends back unchanged.
    static func value(_ value: String) -> Attribute { Attribute("value", Markup(unchanged: value)) }
    /// The text that a script copies to the clipboard. Control characters are visible, because a shell would obey them.
    static func copied(_ text: String) -> Attribute { named("data-copy", text) }
    static func href(_ link: Link) -> Attribute { Attribute("href", Markup(unchanged: link.text)) }
    static func src(_ link: Link) -> Attribute { Attribute("src", Markup(unchanged: link.text)) }
    static func action(_ link: Link) -> Attribute { Attribute("action", Markup(unchanged: link.text)) }
    /// A link for the page's script.
    static func url(_ name: StaticString, _ link: Link) -> Attribute { Attribute(name, Markup(unchanged: link.text)) }
}

/// Joins the parts of an element. A string becomes escaped text.
@resultBuilder
enum MarkupBuilder {
    static func buildExpression(_ text: String) -> Markup { Markup(text: text) }
    static func buildExpression(_ markup: Markup) -> Markup { markup }
    static func buildExpression(_ markups: [Markup]) -> Markup { buildArray(markups) }
    static func buildExpression(_ markup: Markup?) -> Markup { markup ?? .empty }
    static func buildBlock(_ parts: Markup...) -> Markup { buildArray(parts) }
    static func buildOptional(_ part: Markup?) -> Markup { part ?? .empty }
    static func buildEither(first part: Markup) -> Markup { part }
    static func buildEither(second part: Markup) -> Markup { part }
    static func buildArray(_ parts: [Markup]) -> Markup { Markup(html: parts.map(\.html).joined()) }
}

/// An element with content.
func tag(
    _ name: StaticString,
    _ attributes: Attribute...,
    @MarkupBuilder content: () -> Markup = { .empty }
) -> Markup {
    Markup(html: "<\(name)\(attributes.map(\.html).joined())>\(content().html)</\(name)>")
}

/// An element with only text.
func tag(_ name: StaticString, _ attributes: Attribute..., text: String) -> Markup {
    Markup(html: "<\(name)\(attributes.map(\.html).joined())>\(Markup(text: text).html)</\(name)>")
}

/// An element that cannot have content, such as `input`.
func void(_ name: StaticString, _ attributes: Attribute...) -> Markup {
    Markup(html: "<\(name)\(attributes.map(\.html).joined())>")
}

/// Parts without an element around them.
func parts(@MarkupBuilder _ content: () -> Markup) -> Markup { content() }

extension Markup {
    /// The whole document of a page.
    var document: String { "<!doctype html>\n" + html }
}
