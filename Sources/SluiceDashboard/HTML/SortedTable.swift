/// A table whose columns are links that sort it.
enum SortedTable {
    struct Column {
        var title: String
        var isNumber: Bool
        /// The page, sorted by this column; nil = it cannot be.
        var link: Link?
        var isCurrent: Bool

        enum Kind { case text, number }

        init(_ title: String, _ kind: Kind = .text, link: Link? = nil, isCurrent: Bool = false) {
            (self.title, isNumber, self.link, self.isCurrent) = (title, kind == .number, link, isCurrent)
        }
    }

    static func markup(_ caption: String, _ columns: [Column], _ rows: [[Cell]], classes: String) -> Markup {
        TableView.markup(caption, rows, classes: classes) {
            columns.enumerated().map { index, column in
                let cell = rows.first.flatMap { $0.count > index ? $0[index] : nil }
                return tag(
                    "th",
                    .named("scope", "col"),
                    .class(cell?.titleClasses ?? (column.isNumber ? "number" : "")),
                    .named("aria-sort", column.isCurrent ? "descending" : "none")
                ) {
                    if let link = column.link {
                        tag("a", .href(link), text: column.title + (column.isCurrent ? " ▾" : ""))
                    } else {
                        column.title
                    }
                }
            }
        }
    }
}
