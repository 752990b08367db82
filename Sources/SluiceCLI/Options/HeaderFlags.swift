import ArgumentParser
import Operations

/// The headers of an operation on the command line.
package struct HeaderFlags: ParsableArguments {
    @Option(
        name: .customLong("header"),
        help: ArgumentHelp(
            "Give the operation's body a header, for example tenant=acme; may be repeated.",
            valueName: "name=value"
        ),
        transform: Header.init(typed:)
    )
    var headers: [Header] = []

    package init() {}

    /// Checks the names of the headers.
    ///
    /// - Throws: `.usage` for a name that is given twice.
    func check() throws(CLIError) {
        var names: Set<String> = []
        for header in headers where !names.insert(header.name).inserted {
            throw .usage("--header \(header.name) is given twice", fix: "drop one of them")
        }
    }

    var values: [String: String] {
        Dictionary(headers.map { ($0.name, $0.value) }) { $1 }
    }
}

/// A header, `NAME=VALUE`.
struct Header: Sendable {
    var name: String
    var value: String

    init(typed text: String) throws(CLIError) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2 else {
            throw .usage("expected NAME=VALUE", fix: "--header tenant=acme")
        }
        (name, value) = (parts[0], parts[1])
    }
}
