/// The help text and the arguments of a built-in operation.
package struct BuiltinReference: Sendable {
    /// One argument.
    package struct Argument: Sendable {
        /// Which JSON it is.
        package enum Form: String, Sendable {
            case number, string, bool, strings, numbers
            /// An object of strings.
            case texts = "object"
            case json = "any JSON"
        }

        package let name: String
        package let form: Form
        package let isRequired: Bool
        private let about: String

        package var text: String { isRequired ? about + " Required." : about }

        static func required(_ name: String, _ form: Form, _ about: String) -> Argument {
            Argument(name: name, form: form, isRequired: true, about: about)
        }

        static func optional(_ name: String, _ form: Form, _ about: String) -> Argument {
            Argument(name: name, form: form, isRequired: false, about: about)
        }
    }

    package let name: String
    /// What the operation does: a verb phrase.
    package let summary: String
    /// Its arguments; nil = any.
    package let arguments: [Argument]?
    /// Its result; empty = none.
    package let result: String
    /// A command that can be pasted.
    package let example: String

    package var isRestricted: Bool { BuiltinOperations.restricted.contains(name) }

    private init(
        _ name: String,
        _ summary: String,
        _ arguments: [Argument]?,
        result: String = "",
        example: String
    ) {
        self.name = name
        self.summary = summary
        self.arguments = arguments
        self.result = result
        self.example = example
    }

    /// The reference of an operation.
    static func named(_ name: String) -> BuiltinReference? { all.first { $0.name == name } }

    package static let all = [
        BuiltinReference("noop", "Do nothing.", nil, example: "noop"),
        BuiltinReference(
            "sleep",
            "Do nothing for a time, and report progress.",
            [.required("seconds", .number, "How long, up to a year.")],
            example: "sleep seconds:=3"
        ),
        BuiltinReference(
            "fail",
            "Fail.",
            [
                .optional("message", .string, "The error's text."),
                .optional("retryable", .bool, "Whether other attempts follow (true)."),
            ],
            example: "fail message=no retryable:=false"
        ),
        exec, http, download,
    ]

    private static let exec = BuiltinReference(
        "exec",
        "Run a program without a shell; its output is the log.",
        [
            .required("argv", .strings, "The program and its arguments. A name is searched for in PATH."),
            .optional("cwd", .string, "Folder to run in, on the worker's machine (the worker's own)."),
            .optional("env", .texts, "Variables, which replace those that the worker passes."),
            .optional("stdin", .string, "Text that the program reads (none)."),
            .optional("snooze", .number, "Seconds until it runs again after exit code 75 (30)."),
        ],
        result: #"{"exitCode":0}; 75 = run again later, no attempt used; another exit code is a failed attempt"#,
        example: "--cwd /srv --env COLOR=red --stdin list.txt -- sort -r"
    )

    private static let http = BuiltinReference(
        "http",
        "Send an HTTP request.",
        [
            .required("url", .string, "http or https. user:password@ becomes Basic authentication."),
            .optional("method", .string, "GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS (GET; POST with a body)."),
            .optional("headers", .texts, "Header fields."),
            .optional("json", .json, "The body, sent as application/json."),
            .optional("body", .string, "The body as text, instead of json."),
            .optional("timeout", .number, "Seconds for the whole exchange (30)."),
            .optional("expect", .numbers, "Statuses that are a success ([200, …, 299])."),
        ],
        result: "status, headers, bytes, sha256, and json or body up to 128 KiB",
        example: #"http url=https://api.example.com/sync json:='{"page":1}'"#
    )

    private static let download = BuiltinReference(
        "download",
        "Download a file atomically.",
        [
            .required("url", .string, "http or https. user:password@ becomes Basic authentication."),
            .required("path", .string, "The file, in an existing folder. Links are followed; mode and owner are kept."),
        ],
        result: "url, path, bytes, sha256, status",
        example: "download url=https://example.com/a.png path=/srv/a.png"
    )
}
