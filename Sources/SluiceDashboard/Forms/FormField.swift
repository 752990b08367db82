import Operations

/// A field of a form with its title, and with the message if the value was refused.
struct FormField {
    let title: String
    let name: String
    var about = ""
    let form: TypedForm

    init(_ title: String, _ name: String, _ form: TypedForm, about: String = "") {
        (self.title, self.name, self.form, self.about) = (title, name, form, about)
    }

    /// - Parameter list: the id of a list of suggestions.
    func line(list: String = "", placeholder: String = "", mode: String = "text") -> Markup {
        label {
            void(
                "input",
                .named("type", "text"),
                .named("name", name),
                .value(form.text(name)),
                .named("list", list),
                .named("placeholder", placeholder),
                .named("inputmode", mode),
                .named("autocomplete", "off"),
                .named("aria-invalid", isWrong)
            )
        }
    }

    func area(rows: Int) -> Markup {
        label {
            tag(
                "textarea",
                .named("name", name),
                .named("rows", "\(rows)"),
                .named("spellcheck", "false"),
                .named("aria-invalid", isWrong)
            ) { Markup(typed: form.text(name)) }
        }
    }

    func choice(_ choices: [(value: String, title: String)]) -> Markup {
        label {
            tag("select", .named("name", name), .named("aria-invalid", isWrong)) {
                choices.map { choice in
                    choice.value == form.text(name)
                        ? tag("option", .value(choice.value), .flag("selected"), text: choice.title)
                        : tag("option", .value(choice.value), text: choice.title)
                }
            }
        }
    }

    private var isWrong: String { form.errors[name] == nil ? "false" : "true" }

    private func label(@MarkupBuilder _ input: () -> Markup) -> Markup {
        tag("label", .class("field")) {
            tag("span") {
                tag("b", text: title)
                if !about.isEmpty { tag("span", .class("dim"), text: " \(about)") }
            }
            input()
            if let error = form.errors[name] { tag("span", .class("dead"), .named("role", "alert"), text: error) }
        }
    }
}

/// The fields that several forms of operations have.
enum OperationFields {
    static func priority(_ form: TypedForm) -> Markup {
        FormField("Priority", "priority", form).choice(OperationPriority.allCases.map { ($0.rawValue, $0.rawValue) })
    }

    static func start(_ form: TypedForm) -> Markup {
        FormField("Start", "start", form, about: "no earlier than: 10m, or 2026-01-31T08:00:00Z").line(
            placeholder: "now"
        )
    }

    static func tags(_ form: TypedForm) -> Markup {
        FormField("Tags", "tags", form, about: "one in a line").area(rows: 3)
    }

    /// The field of the queue. A queue that does not exist has to be confirmed, because it may be a wrong name.
    @MarkupBuilder static func queue(_ form: TypedForm, known: [String]) -> Markup {
        FormField("Queue", "queue", form).line(list: "queues")
        suggestions("queues", known)
        if form.errors["queue"] != nil {
            tag("label", .class("mark")) {
                void("input", .named("type", "checkbox"), .name("newqueue"), .value("yes"))
                " This is a new queue"
            }
        }
    }

    static func suggestions(_ id: String, _ words: [String]) -> Markup {
        tag("datalist", .id(id)) { words.map { void("option", .value($0)) } }
    }

    static func hidden(_ name: String, _ value: String) -> Markup {
        void("input", .named("type", "hidden"), .named("name", name), .value(value))
    }
}
