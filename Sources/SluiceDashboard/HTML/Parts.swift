import Operations
import SluiceOperator
import TerminalText

/// A message above the content of a page.
enum Notice {
    enum Kind: String { case good, warning, bad }

    /// The place of the message that the dashboard itself does not answer, which only the script can say.
    static var outage: Markup {
        tag("p", .id("outage"), .class("notice bad"), .named("role", "alert"), .flag("hidden")) { "" }
    }

    static func markup(_ kind: Kind, _ text: String) -> Markup {
        tag("p", .class("notice \(kind.rawValue)"), .named("role", kind == .good ? "status" : "alert"), text: text)
    }
}

/// Commands to copy. They name the namespace, since the terminal may have another one.
struct CommandLineView {
    let namespace: String

    init(namespace: String) { self.namespace = namespace }

    init(_ site: Site) { self.init(namespace: site.options.namespace) }

    /// - Parameter words: the words after the name of the program.
    func markup(_ words: [String], label: String? = nil) -> Markup {
        markup(text: Program.command(words), label: label)
    }

    func markup(text: String, label: String? = nil) -> Markup {
        let text = placed(text)
        return tag("div", .class("command")) {
            if let label { tag("span", .class("dim"), text: label) }
            tag("code", text: text)
            tag("button", .named("type", "button"), .class("quiet copy"), .flag("hidden"), .copied(text), text: "Copy")
        }
    }

    private func placed(_ text: String) -> String {
        let name = Program.name + " "
        guard text.hasPrefix(name), namespace != SluiceDefaults.namespace else { return text }
        return Program.command(["-N", namespace]) + " " + text.dropFirst(name.count)
    }
}

/// A state as mark, word and colour.
enum StateView {
    static func markup(_ state: OperationState) -> Markup {
        tag("span", .class("state " + state.rawValue)) {
            StateMark.markup(state)
            state.rawValue
        }
    }
}

extension TextRole {
    /// The class of the style sheet.
    var className: String {
        switch self {
        case .executing: "executing"
        case .finished: "finished"
        case .warning: "warning"
        case .dead: "dead"
        case .cancelled: "cancelled"
        case .dim: "dim"
        case .heading: "heading"
        case .plain: ""
        }
    }
}

/// A cell of a table, with the title of its column for screens on which rows are cards.
struct Cell {
    /// The class of a cell with the box that marks its row.
    static let mark = "mark-cell"

    let label: String
    var classes = ""
    var content: Markup

    init(_ label: String, _ classes: String = "", @MarkupBuilder content: () -> Markup) {
        (self.label, self.classes, self.content) = (label, classes, content())
    }

    /// The cell, left out on screens of middle width. The page of the row has its content as well.
    var minor: Cell {
        var cell = self
        cell.classes += " minor"
        return cell
    }

    /// The classes that the title of the column has too.
    var titleClasses: String {
        classes.split(separator: " ").filter { $0 == "number" || $0 == "minor" }.joined(separator: " ")
    }

    /// A text.
    static func text(_ label: String, _ text: String, role: TextRole = .plain) -> Cell {
        Cell(label, role.className) { text }
    }

    /// A number. Zero is dim, so that the others stand out.
    static func count(_ label: String, _ number: Int, role: TextRole = .plain) -> Cell {
        Cell(label, "number " + (number == 0 ? "dim" : role.className)) { QuantityText.grouped(number) }
    }

    /// A measured value, aligned like a number.
    static func measure(_ label: String, _ text: String, role: TextRole = .plain) -> Cell {
        Cell(label, "number " + (text == "–" || text == "0" ? "dim" : role.className)) { text }
    }
}

/// A table whose rows become cards on narrow screens.
enum TableView {
    /// - Parameters:
    ///   - caption: the name of the table, for screen readers.
    ///   - columns: the titles, for an empty table; rows have their own.
    static func markup(_ caption: String, _ columns: [String], _ rows: [[Cell]], classes: String = "") -> Markup {
        markup(caption, rows, classes: classes) {
            columns.enumerated().map { index, title in
                let cell = rows.first.flatMap { $0.count > index ? $0[index] : nil }
                return tag("th", .named("scope", "col"), .class(cell?.titleClasses ?? "")) {
                    if cell?.classes == Cell.mark { markAll } else { title }
                }
            }
        }
    }

    /// The box that marks all rows; the script shows it.
    private static var markAll: Markup {
        void(
            "input",
            .named("type", "checkbox"),
            .class("all"),
            .named("aria-label", "Mark all that are shown"),
            .title("Mark all that are shown"),
            .flag("hidden")
        )
    }

    /// - Parameter head: the cells of the first row.
    static func markup(
        _ caption: String,
        _ rows: [[Cell]],
        classes: String = "",
        @MarkupBuilder head: () -> Markup
    ) -> Markup {
        tag("div", .class("scroll")) {
            tag("table", .class(classes)) {
                tag("caption", .class("unseen"), text: caption)
                tag("thead") { tag("tr", content: head) }
                tag("tbody") {
                    rows.map { row in
                        tag("tr") {
                            row.map {
                                tag("td", .class($0.classes), .named("data-label", $0.label)) {
                                    [content = $0.content] in content
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
