/// The rule for names of namespaces, queues, operation types and workers: `^[A-Za-z0-9._-]{1,128}$`.
///
/// Names become parts of Redis keys and channels, so characters with a meaning there (`{ } : * ? [ ]`, control bytes)
/// are not allowed.
public enum NameRule {
    /// The fix to suggest for a name that is not allowed.
    static let expected = "use 1 to 128 letters, digits, '.', '_' or '-'"

    /// Returns whether the text may be used as a name.
    public static func allows(_ name: String) -> Bool {
        let bytes = name.utf8
        return (1...128).contains(bytes.count) && bytes.allSatisfy(isAllowed)
    }

    /// Returns the name, or throws if it is not allowed.
    ///
    /// - Parameters:
    ///   - name: the text to check.
    ///   - role: the kind of name, for the message: "queue", "namespace", "operation name".
    /// - Throws: `OperationsError` with `.invalidName`.
    @discardableResult
    public static func check(_ name: String, role: String) throws(OperationsError) -> String {
        guard allows(name) else {
            throw OperationsError(
                .invalidName,
                "\(role) \(OperationsError.quoted(name)) is not allowed: \(expected)"
            )
        }
        return name
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
