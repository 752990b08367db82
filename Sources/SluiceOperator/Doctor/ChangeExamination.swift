import Operations
import TerminalText

extension Doctor {
    /// Finds changes of many operations that no dashboard performs or can read.
    package mutating func examineChanges() async throws {
        let stored = try await broker.changes(nil)
        for change in stored.changes {
            if let diagnosis = ChangeExamination(change: change, time: stored.time).diagnosis { chart.add(diagnosis) }
        }
    }
}

/// Finds the problem of a stored change.
package struct ChangeExamination {
    /// The largest time without a lease, in milliseconds. A running dashboard takes a change over within seconds.
    package static let patience: Int64 = 60_000

    package let change: StoredChange
    /// The server's time in milliseconds.
    package let time: Int64

    package var diagnosis: Diagnosis? {
        guard !change.isEnded else { return nil }
        guard ChangeJobRun.isReadable(change), let job = ChangeJob(change.definition),
            let progress = ChangeJobProgress(change.progress)
        else {
            return finding(
                "changeUnreadable",
                "this version of \(Program.name) cannot read this change of many operations, and leaves it alone",
                "\(Program.name) dashboard, of the version that stored it, continues it; an admin can remove it at "
                    + "/changes/\(change.id)"
            )
        }
        let since = max(change.leaseEndsAt, change.createdAt)
        guard time - since > Self.patience else { return nil }
        let done = "\(QuantityText.grouped(progress.done)) of \(QuantityText.grouped(job.expected))"
        return finding(
            "changeWaits",
            "\(job.title) (by \(job.by)): \(done) \(job.kind.participle), and no dashboard has continued it for "
                + DurationText.coarse(.milliseconds(time - since)),
            "\(Program.name) dashboard"
        )
    }

    private func finding(_ code: String, _ message: String, _ fix: String) -> Diagnosis {
        Diagnosis(.warning, code, change.id.description, message, fix: fix).about(.change(change.id))
    }
}
