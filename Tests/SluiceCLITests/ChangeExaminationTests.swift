import Operations
import Testing

@testable import SluiceOperator

@Suite("What doctor says about stored changes", .timeLimit(.minutes(60)))
struct ChangeExaminationTests {
    private static let now: Int64 = 1_800_000_000_000

    private func change(_ edit: (inout StoredChange) -> Void = { _ in }) -> StoredChange {
        let job = ChangeJob(.retry, .matching("state:dead"), reason: "books", by: "ann", expected: 1_204)
        var progress = ChangeJobProgress(starts: ["mail": 9])
        progress.done = 300
        var change = StoredChange(
            id: OperationID(),
            fence: 1,
            leaseEndsAt: Self.now - 300_000,
            createdAt: Self.now - 600_000,
            definition: job.bytes,
            progress: progress.bytes
        )
        edit(&change)
        return change
    }

    private func diagnosis(_ change: StoredChange) -> Diagnosis? {
        ChangeExamination(change: change, time: Self.now).diagnosis
    }

    @Test("A change without a lease for more than a minute names its query, progress and the command that continues it")
    func waits() throws {
        let change = change()
        let found = try #require(diagnosis(change))
        #expect(found.code == "changeWaits" && found.severity == .warning && found.subject == "\(change.id)")
        #expect(
            found.message == "retry 1,204 operations: state:dead (by ann): 300 of 1,204 retried, and no dashboard has "
                + "continued it for 5m"
        )
        #expect(found.fix?.hasSuffix(" dashboard") ?? false)
    }

    @Test("A change that runs, that has ended, or that was stored a moment ago is no finding")
    func fine() {
        #expect(diagnosis(change { $0.leaseEndsAt = Self.now + 1 }) == nil)
        #expect(diagnosis(change { $0.leaseEndsAt = Self.now - 60_000 }) == nil)
        #expect(diagnosis(change { $0.isEnded = true }) == nil)
        #expect(diagnosis(change { ($0.leaseEndsAt, $0.createdAt) = (0, Self.now - 1_000) }) == nil)
        #expect(diagnosis(change { ($0.leaseEndsAt, $0.createdAt) = (0, Self.now - 61_000) })?.code == "changeWaits")
    }

    @Test("A change that cannot be read is a finding at once", arguments: ["definition", "progress", "head"])
    func unreadable(_ part: String) {
        let change = change { change in
            change.leaseEndsAt = Self.now + 1
            switch part {
            case "definition": change.definition = Array("{}".utf8)
            case "progress": change.progress = Array("[]".utf8)
            default: change.isReadable = false
            }
        }
        #expect(diagnosis(change)?.code == "changeUnreadable")
    }

    @Test("Every kind and target of a change is read back as it was stored")
    func stored() throws {
        let marked = ChangeJob.Target.marked([OperationAddress(queue: "mail", id: OperationID())])
        for kind in ChangeKind.allCases {
            for target in [marked, .matching("name:a queue:b")] {
                let job = ChangeJob(kind, target, spread: .seconds(60), reason: "r", by: "a", from: "h", expected: 3)
                #expect(ChangeJob(job.bytes) == job)
            }
        }
        var progress = ChangeJobProgress(starts: ["a": 1])
        (progress.done, progress.refused, progress.queues) = (1, 2, ["a", "b"])
        #expect(ChangeJobProgress(progress.bytes) == progress)
    }
}
