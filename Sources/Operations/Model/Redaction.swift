/// The parts of arguments and results to hide when they are printed. The stored values stay unchanged.
package struct Redaction: Sendable, Equatable {
    /// The text in place of a hidden value.
    package static let mark = JSONValue.string("***")
    /// The paths to hide. Each begins with `args` or `result`; `*` stands for any key or index.
    package let paths: [[String]]
    /// Whether to hide arguments and results as a whole.
    package var hidesAll: Bool

    /// Hides nothing.
    package static let none = Redaction(paths: [], hidesAll: false)

    private init(paths: [[String]], hidesAll: Bool) {
        self.paths = paths
        self.hidesAll = hidesAll
    }

    /// Reads `args.password,args.*.token,result.key`.
    ///
    /// - Throws: `.invalidOption` for a path that does not begin with `args` or `result`, or has an empty part.
    package init(parsing text: String, hidesAll: Bool) throws(OperationsError) {
        var paths: [[String]] = []
        for path in text.split(separator: ",") {
            let parts = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            guard ["args", "result"].contains(parts[0]), !parts.contains("") else {
                throw OperationsError(
                    .invalidOption,
                    "the path to hide, \(OperationsError.quoted(String(path))), is not valid: use args.KEY, args.*.KEY or result.KEY"
                )
            }
            paths.append(parts)
        }
        self.init(paths: paths, hidesAll: hidesAll)
    }

    package enum Root: String { case arguments = "args", result }

    package func applied(to value: JSONValue, _ root: Root) -> JSONValue {
        guard !hidesAll else { return value.isNull ? value : Self.mark }
        return paths.reduce(value) { value, path in
            path[0] == root.rawValue ? Self.hide(path.dropFirst(), in: value) : value
        }
    }

    /// Applies the redaction to stored bytes. Bytes that cannot be parsed are hidden as a whole if a path could match
    /// in them.
    package func applied(to bytes: [UInt8], _ root: Root) -> [UInt8] {
        guard hidesAll || paths.contains(where: { $0[0] == root.rawValue }), !bytes.isEmpty else { return bytes }
        let limits = JSONLimits(maximumBytes: 4 << 20, maximumDepth: 512, duplicateKeys: .lastWins)
        let value = try? JSONValue(parsing: bytes, limits: limits)
        return (value.map { applied(to: $0, root) } ?? Self.mark).serializedBytes()
    }

    package var description: String {
        hidesAll
            ? "everything" : paths.isEmpty ? "nothing" : paths.map { $0.joined(separator: ".") }.joined(separator: ",")
    }

    private static func hide(_ path: ArraySlice<String>, in value: JSONValue) -> JSONValue {
        guard let key = path.first else { return mark }
        let rest = path.dropFirst()
        switch value {
        case .object(let object):
            return .object(
                JSONObject(
                    object.members.map { member in
                        (member.key, key == "*" || key == member.key ? hide(rest, in: member.value) : member.value)
                    }
                )
            )
        case .array(let elements):
            return .array(
                elements.enumerated().map { index, element in
                    key == "*" || key == "\(index)" ? hide(rest, in: element) : element
                }
            )
        case .null, .bool, .number, .string: return value
        }
    }
}
