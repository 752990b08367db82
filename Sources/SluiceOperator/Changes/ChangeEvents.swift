import Operations
import TerminalText

/// The events of a stored change: one at the beginning and one at the end, in each queue of the change.
struct ChangeEvents: Sendable {
    let broker: any EventNoting
    let id: OperationID
    let job: ChangeJob

    private static let titleLength = 240

    /// - Parameter queues: queues that have no event of the beginning yet.
    func begin(in queues: [String]) async throws {
        let words = [
            "\(id) \(job.title)".cut(toCharacters: Self.titleLength),
            job.spread.map { "spread over \(DurationText.exact($0))" },
            job.from.isEmpty ? nil : "from the dashboard on \(job.from)",
            job.reason.isEmpty ? nil : job.reason,
        ]
        try await note(.startChange, by: job.by, count: job.expected, words, in: queues)
    }

    /// - Parameters:
    ///   - progress: that of the end.
    ///   - stopper: the person who asked for the stop; nil = no stop was asked for.
    func end(_ progress: ChangeJobProgress, _ end: BulkProgress.End, stopper: String?) async throws {
        let (word, by): (String, String) =
            switch end {
            case .complete where stopper != nil: ("complete before it was stopped", stopper ?? job.by)
            case .complete: ("complete", job.by)
            case .stopped: ("stopped", stopper ?? job.by)
            case .failed(let reason): ("failed: \(reason)", job.by)
            }
        let words = [
            "\(id) \(word)",
            "\(QuantityText.grouped(progress.done)) \(job.kind.participle)",
            "\(QuantityText.grouped(progress.refused)) refused",
            "\(job.kind.verb) \(job.subject)".cut(toCharacters: Self.titleLength),
            by == job.by ? nil : "begun by \(job.by)",
            job.reason.isEmpty ? nil : job.reason,
        ]
        try await note(.endChange, by: by, count: progress.done, words, in: progress.queues)
    }

    private func note(
        _ verb: QueueChange.Verb,
        by: String,
        count: Int,
        _ words: [String?],
        in queues: [String]
    ) async throws {
        let detail = words.compactMap { $0 }.joined(separator: ", ")
        for queue in queues {
            try await broker.noteEvent(QueueChange(verb, by: by, count: count, detail: detail), of: nil, queue: queue)
        }
    }
}

extension ChangeJob {
    /// The operations of the change: its query, or the number of marked ones.
    package var subject: String {
        switch target {
        case .marked(let addresses): QuantityText.grouped(addresses.count) + " marked"
        case .matching(let text): text.isEmpty ? "all operations" : text
        }
    }

    /// `retry 1,204 operations: state:dead queue:mail`
    package var title: String {
        "\(kind.verb) \(QuantityText.operations(expected)): \(subject)"
    }
}
