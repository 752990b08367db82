import Operations
import SluiceOperator

/// The fields for the arguments of an operation, from the arguments that others of its name had.
struct ArgumentFields: Sendable {
    enum Kind: String, Sendable { case text, number, flag, json }

    struct Field: Sendable, Equatable {
        var key: String
        var kind: Kind
    }

    private static let most = 40
    /// The operations to look at, and the places and rows in which to look for them.
    private static let samples = 20
    private static let places = 3
    private static let rows = 200

    private(set) var fields: [Field] = []

    /// Reads the fields that a form was made with.
    init(_ form: FormFields) {
        while fields.count < Self.most, let kind = form["kind\(fields.count)"].flatMap(Kind.init) {
            fields.append(Field(key: form["key\(fields.count)"] ?? "", kind: kind))
        }
    }

    /// Finds the fields in the arguments of operations.
    ///
    /// - Parameter view: the keys and the redaction. Hidden arguments give no fields.
    init(_ details: [OperationDetail], _ view: PayloadView) {
        var kinds: [String: Kind] = [:]
        for detail in details {
            let shown = detail.reading(view)
            let stored = detail.reading(PayloadView(seal: view.seal)).envelope.arguments
            guard shown.hiddenArguments == nil,
                let members = (try? JSONValue(parsing: shown.envelope.arguments))?.objectValue?.members,
                // The kind of a value that is hidden is still that of the stored value.
                let values = try? JSONValue(parsing: stored)
            else { continue }
            for member in members {
                guard let value = values[member.key], !value.isNull else { continue }
                let kind = Self.kind(of: value)
                if let known = kinds[member.key] {
                    if known != kind { kinds[member.key] = .json }
                } else if kinds.count < Self.most {
                    kinds[member.key] = kind
                    fields.append(Field(key: member.key, kind: kind))
                }
            }
        }
        fields = fields.map { Field(key: $0.key, kind: kinds[$0.key] ?? .json) }
    }

    private static func kind(of value: JSONValue) -> Kind {
        switch value {
        case .string: .text
        case .number: .number
        case .bool: .flag
        case .null, .array, .object: .json
        }
    }

    /// Reads operations of a name in a queue: a few places, one page of each.
    static func samples(of name: String, _ snapshot: QueueSnapshot, _ site: Site) async throws -> [OperationDetail] {
        let sought = try QueryText.parse(QueryText.term("name", name)).sought(site.options.view)
        let states: [OperationState] = [.finished, .ready, .executing, .dead, .scheduled, .retrying, .cancelled]
        var found: [OperationDetail] = []
        for state in states.filter({ snapshot.counts[$0] ?? 0 > 0 }).prefix(places) where found.count < samples {
            let page = try await site.broker.page(
                state: state,
                queue: snapshot.queue,
                cursor: nil,
                limit: rows,
                sought: sought
            )
            found += page.operations.filter { $0.envelope.name == name }
        }
        return Array(found.prefix(samples))
    }
}

extension ArgumentFields {
    /// The arguments that a form says: its JSON, and the fields in it.
    ///
    /// - Returns: nil if a field is refused.
    func arguments(_ form: inout TypedForm) -> [UInt8]? {
        let members = members(&form)
        let text = form.text("arguments")
        guard !text.allSatisfy(\.isWhitespace) else { return JSONValue.object(JSONObject(members)).serializedBytes() }
        guard let base = form.read("arguments", { try JSONValue(parsing: text) }) else { return nil }
        guard !members.isEmpty else { return base.serializedBytes() }
        guard case .object(var object) = base else {
            form.refuse(
                "arguments",
                "This is \(base.kind), so the fields above cannot be added. Empty them, or write an object."
            )
            return nil
        }
        for (key, value) in members { object[key] = value }
        return JSONValue.object(object).serializedBytes()
    }

    /// The values of the fields that are not empty.
    private func members(_ form: inout TypedForm) -> [(String, JSONValue)] {
        var members: [(String, JSONValue)] = []
        for (index, field) in fields.enumerated() where !form.text("value\(index)").isEmpty {
            if let value = Self.value(field.kind, "value\(index)", &form) { members.append((field.key, value)) }
        }
        return members
    }

    private static func value(_ kind: Kind, _ name: String, _ form: inout TypedForm) -> JSONValue? {
        switch kind {
        case .text: return .string(form.text(name))
        case .flag: return .bool(form.line(name) == "true")
        case .number:
            let line = form.line(name)
            guard let number = JSONNumber(literal: line) else {
                form.refuse(name, "\(line) is not a number; write one like 3, 0.5 or -1e3.")
                return nil
            }
            return .number(number)
        case .json:
            let text = form.text(name)
            return form.read(name) { try JSONValue(parsing: text) }
        }
    }

    /// The fields of a form.
    func markup(_ form: TypedForm) -> Markup {
        parts {
            for (index, field) in fields.enumerated() {
                OperationFields.hidden("key\(index)", field.key)
                OperationFields.hidden("kind\(index)", field.kind.rawValue)
                Self.input(field, "value\(index)", form)
            }
        }
    }

    private static func input(_ field: Field, _ name: String, _ form: TypedForm) -> Markup {
        let key = field.key.isEmpty ? "(empty name)" : field.key
        switch field.kind {
        case .text: return FormField(key, name, form, about: "text").line()
        case .number: return FormField(key, name, form, about: "number").line(mode: "decimal")
        case .json: return FormField(key, name, form, about: "JSON").area(rows: 2)
        case .flag:
            let choices = [("", "left out"), ("true", "true"), ("false", "false")]
            return FormField(key, name, form).choice(choices)
        }
    }
}
