import Operations
import SluiceOperator
import TerminalText

/// The boxes of a list's rows, and the bar with changes of the marked operations or of all that match.
enum MarkForm {
    /// - Parameters:
    ///   - count: the number of operations that match; nil = unknown.
    ///   - table: makes the table, with a column of boxes or without.
    static func markup(
        _ visit: Visit,
        query: String,
        state: OperationState?,
        count: Int?,
        _ table: (_ canMark: Bool) -> Markup
    ) -> Markup {
        let actions = OperationAction.allCases.filter { action in
            visit.may(action.permission)
                && (state.map { action.kind.allowed.contains($0) } ?? true)
        }
        guard !actions.isEmpty else { return table(false) }
        let links = visit.links
        return tag("form", .class("marks"), .named("method", "get"), .action(links.to("changes", "new"))) {
            if !query.isEmpty { void("input", .named("type", "hidden"), .name("q"), .value(query)) }
            if let state { void("input", .named("type", "hidden"), .name("state"), .value(state.rawValue)) }
            tag("div", .class("bar")) {
                scope("marked", "marked", isChosen: true)
                markCount
                if visit.may(.all) || state != nil || (try? QueryText.parse(query))?.isUnlimited == false {
                    scope(
                        "all",
                        "all that match" + (count.map { " (\(QuantityText.grouped($0)))" } ?? ""),
                        isChosen: false
                    )
                }
                actions.map { action in
                    tag(
                        "button",
                        .class(action.isFinal ? "danger" : ""),
                        .name("action"),
                        .value(action.rawValue),
                        text: action.title + "…"
                    )
                }
                tag("a", .class("far"), .href(links.to("changes")), text: "Past and running changes")
            }
            table(true)
        }
    }

    /// The number of marked rows, and the button that marks or clears all of them; the script fills and shows both.
    static var markCount: Markup {
        parts {
            tag("span", .class("dim marked"), .named("role", "status"), .flag("hidden"), text: "")
            tag("button", .named("type", "button"), .class("quiet mark-all"), .flag("hidden"), text: "Mark all shown")
        }
    }

    private static func scope(_ value: String, _ label: String, isChosen: Bool) -> Markup {
        tag("label") {
            isChosen
                ? void("input", .named("type", "radio"), .name("scope"), .value(value), .flag("checked"))
                : void("input", .named("type", "radio"), .name("scope"), .value(value))
            label
        }
    }

    static func cell(_ detail: OperationDetail) -> Cell {
        let address = "\(detail.queue)/\(detail.id)"
        return Cell("Mark", Cell.mark) {
            void(
                "input",
                .named("type", "checkbox"),
                .name("mark"),
                .value(address),
                .named("aria-label", "Mark \(detail.id)")
            )
        }
    }
}
