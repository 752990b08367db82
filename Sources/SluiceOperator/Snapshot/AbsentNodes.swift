import Operations
import TerminalText

extension AbsentNode {
    /// The most queues that the sentence names.
    private static let named = 5

    /// `node 10.0.0.5:6379 of the cluster does not answer (…); left out: mail, images and 3 more`
    package var sentence: String {
        let more = queues.count > Self.named ? " and \(queues.count - Self.named) more" : ""
        let names = queues.prefix(Self.named).joined(separator: ", ")
        return SafeText.line("node \(node) of the cluster does not answer (\(reason)); left out: \(names)\(more)")
    }

    /// The JSON of `absentNodes` in several schemas.
    package static func json(_ nodes: [AbsentNode]) -> JSONValue {
        .array(
            nodes.map {
                [
                    "node": .string($0.node), "queues": .array($0.queues.map { .string($0) }),
                    "error": .string($0.reason),
                ]
            }
        )
    }
}
