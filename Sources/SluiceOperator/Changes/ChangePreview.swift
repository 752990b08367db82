import Operations
import Selectors
import TerminalText

/// The effect of a change, determined without a change: `docs/schema/dry-run.json`.
package struct ChangePreview: Sendable {
    /// The largest number of operations to show.
    package static let sampleSize = 10

    /// `cancelled`
    package var participle: String
    package var matches: Int
    /// The number of selected operations that would be refused because of their states.
    package var refused: Int
    /// The examined part of the queues; nil if the command names its operations.
    package var coverage: Coverage?
    /// The first affected operations.
    package var sample: [OperationDetail]

    package init(
        participle: String,
        matches: Int,
        refused: Int = 0,
        coverage: Coverage? = nil,
        sample: [OperationDetail]
    ) {
        self.participle = participle
        self.matches = matches
        self.refused = refused
        self.coverage = coverage
        self.sample = sample
    }

    /// `dry run: 42 would be cancelled, 10 of them shown; scanned 1,000 of 1,000; nothing was changed`
    package var sentence: String {
        let shown = matches > sample.count ? ", \(sample.count) of them shown" : ""
        let count = "dry run: \(QuantityText.grouped(matches)) would be \(participle)\(shown)"
        let refusals = refused == 0 ? nil : "\(QuantityText.grouped(refused)) would be refused"
        return [count, refusals, coverage?.text, "nothing was changed"].compactMap { $0 }.joined(separator: "; ")
    }

    package func json(_ view: PayloadView) -> JSONValue {
        [
            "v": 1, "dryRun": true,
            "matches": .number(matches),
            "refused": .number(refused),
            "scanned": JSONValue(coverage?.scanned),
            "total": JSONValue(coverage?.total),
            "unread": JSONValue(coverage?.unread),
            "sample": .array(sample.map { OperationJSON.object($0, view) }),
        ]
    }
}
