/// The help text and the arguments of a built-in operation.
package struct BuiltinReference: Sendable {
    /// An argument.
    package struct Argument: Sendable {
        package let name: String
        /// The type of the argument in JSON.
        package let form: String
        package let text: String
    }

    package let name: String
    /// A verb phrase that describes the operation.
    package let summary: String
    /// The arguments; nil = any.
    package let arguments: [Argument]?
    /// The result; empty = none.
    package let result: String
    /// A command that can be pasted.
    package let example: String

    package var isRestricted: Bool { BuiltinOperations.restricted.contains(name) }

    private init(
        _ name: String,
        _ summary: String,
        _ arguments: [(name: String, form: String, text: String)]?,
        result: String = "",
        example: String
    ) {
        self.name = name
        self.summary = summary
        self.arguments = arguments?.map { Argument(name: $0.name, form: $0.form, text: $0.text) }
        self.result = result
        self.example = example
    }

    /// Returns the reference of an operation.
    static func named(_ name: String) -> BuiltinReference? { all.first { $0.name == name } }

    package static let all = [
        BuiltinReference("noop", "Do nothing.", nil, example: "noop"),
        BuiltinReference(
            "sleep",
            "Do nothing for a time, and report progress.",
            [("seconds", "number", "How long, up to a year. Required.")],
            example: "sleep seconds:=3"
        ),
        BuiltinReference(
            "fail",
            "Fail.",
            [
                ("message", "string", "The error's text."),
                ("retryable", "bool", "Whether other attempts follow (true)."),
            ],
            example: "fail message=no retryable:=false"
        ),
        exec, http, download,
    ]

    private static let exec = BuiltinReference(
        "exec",
        "Run a program without a shell; its output is the log.",
        [
            ("argv", "strings", "The program and its arguments. Required. A name is searched for in PATH."),
            ("cwd", "string", "Folder to run in, on the worker's machine (the worker's own)."),
            ("env", "object", "Variables, which replace those that the worker passes."),
            ("stdin", "string", "Text that the program reads (none)."),
            ("snooze", "number", "Seconds until it runs again after exit code 75 (30)."),
        ],
        result: #"{"exitCode":0}; 75 = run again later, no attempt used; another exit code is a failed attempt"#,
        example: "--cwd /srv --env COLOR=red --stdin list.txt -- sort -r"
    )

    private static let http = BuiltinReference(
        "http",
        "Send an HTTP request.",
        [
            ("url", "string", "http or https. Required. user:password@ becomes Basic authentication."),
            ("method", "string", "GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS (GET; POST with a body)."),
            ("headers", "object", "Header fields."),
            ("json", "any JSON", "The body, sent as application/json."),
            ("body", "string", "The body as text, instead of json."),
            ("timeout", "number", "Seconds for the whole exchange (30)."),
            ("expect", "numbers", "Statuses that are a success ([200, …, 299])."),
        ],
        result: "status, headers, bytes, sha256, and json or body up to 128 KiB",
        example: #"http url=https://api.example.com/sync json:='{"page":1}'"#
    )

    private static let download = BuiltinReference(
        "download",
        "Download a file atomically.",
        [
            ("url", "string", "http or https. Required. user:password@ becomes Basic authentication."),
            (
                "path", "string",
                "The file, in an existing folder. Required. Links are followed; mode and owner are kept."
            ),
        ],
        result: "url, path, bytes, sha256, status",
        example: "download url=https://example.com/a.png path=/srv/a.png"
    )
}
