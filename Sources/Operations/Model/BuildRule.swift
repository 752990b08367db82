/// The rule for the build that a worker reports: 1 to 64 printable characters, none of them a blank at an end.
public enum BuildRule {
    /// Returns whether the text may be used as a build.
    public static func allows(_ build: String) -> Bool {
        let scalars = build.unicodeScalars
        return (1...SluiceDefaults.buildLength).contains(scalars.count)
            && !scalars.contains(where: \.isTerminalHazard)
            && scalars.first?.properties.isWhitespace == false && scalars.last?.properties.isWhitespace == false
    }

    /// Throws if the text is not allowed.
    ///
    /// - Throws: `OperationsError` with `.invalidOption`.
    package static func check(_ build: String) throws(OperationsError) {
        guard !allows(build) else { return }
        throw OperationsError(
            .invalidOption,
            "the build \(OperationsError.quoted(build)) is not allowed: use 1 to \(SluiceDefaults.buildLength) "
                + "printable characters"
        )
    }
}
