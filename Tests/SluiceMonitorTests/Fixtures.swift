import BrokerModel
import Operations
import TerminalText

@testable import SluiceMonitor
@testable import SluiceOperator

/// 2026-01-02T12:04:31.000Z
let noon: Int64 = 1_767_355_471_000

/// An id that ends in a number.
func id(_ number: Int) -> OperationID {
    OperationID(high: UInt64(noon) << 16, low: UInt64(number))
}

extension QueueSnapshot {
    static func make(
        _ name: String,
        time: Int64 = noon,
        counts: [OperationState: Int] = [:],
        totals: [String: Int64] = [:],
        oldest: Int64? = nil,
        paused: Bool = false,
        workers: [WorkerRow] = [],
        executing: [ExecutingRow] = []
    ) -> QueueSnapshot {
        var snapshot = QueueSnapshot(queue: name, time: time)
        snapshot.counts = counts
        snapshot.totals = totals
        snapshot.oldestReadyMilliseconds = oldest
        snapshot.paused = paused
        snapshot.workers = workers
        snapshot.executing = executing
        return snapshot
    }
}

extension WorkerRow {
    static func make(
        _ id: String,
        name: String? = nil,
        slots: Int = 8,
        inFlight: Int = 0,
        beatAge: Int64 = 600,
        lease: Int64 = 14_400,
        time: Int64 = noon
    ) -> WorkerRow {
        let info = WorkerInfo(
            host: "gpu3",
            pid: 911,
            name: name ?? id,
            slots: slots,
            queues: ["mail", "video"],
            handles: [],
            version: "1",
            startedAt: time - 3_600_000,
            finished: 1_902,
            failed: 5,
            residentBytes: 41 << 20
        )
        return WorkerRow(
            worker: id,
            leaseUntil: time + lease,
            beatAt: time - beatAge,
            inFlight: inFlight,
            info: info.encoded()
        )
    }
}

extension ExecutingRow {
    static func make(
        _ number: Int,
        name: String,
        worker: String = "w1",
        runtime: Int64? = nil,
        priority: OperationPriority = .normal,
        failed: Int = 0,
        progress: (Double, String)? = nil,
        cancelAge: Int64? = nil
    ) -> ExecutingRow {
        let header = OperationHeader(id: id(number), priority: priority, failedAttempts: failed)
        var row = ExecutingRow(worker: worker, fence: Int64(number), header: header, name: name, maxAttempts: 5)
        row.startedAt = runtime.map { noon - $0 }
        row.progress = progress.map { (fraction: $0.0, message: $0.1) }
        row.cancelRequestedAt = cancelAge.map { noon - $0 }
        return row
    }
}

/// The namespace of the drawings: two queues with running operations, a paused queue, and a lost worker.
func shop(receivedAt: Duration = .seconds(10)) -> NamespaceSnapshot {
    let mail = QueueSnapshot.make(
        "mail",
        counts: [.ready: 1_020, .scheduled: 12, .executing: 1, .retrying: 2, .dead: 1, .finished: 3_964],
        totals: ["enqueued": 5_000, "finished": 3_964],
        oldest: 14_000,
        workers: [.make("w1", name: "h1-w1", slots: 16, inFlight: 1)],
        executing: [.make(7, name: "SendEmail", runtime: 12_000, failed: 1, cancelAge: 3_000)]
    )
    let video = QueueSnapshot.make(
        "video",
        counts: [.ready: 40, .executing: 2, .retrying: 5, .dead: 2, .finished: 1_296_036, .cancelled: 12],
        totals: ["enqueued": 1_300_049, "finished": 1_300_000, "cancelled": 12],
        oldest: 192_000,
        workers: [
            .make("w2", name: "h3-w2", slots: 8, inFlight: 2),
            .make("w3", name: "h2-w1", inFlight: 2, beatAge: 41_000, lease: -26_000),
        ],
        executing: [
            .make(9, name: "probe", worker: "w2"),
            .make(
                8,
                name: "encode.part7",
                worker: "w2",
                runtime: 161_000,
                priority: .veryHigh,
                progress: (0.68, "pass 2 of 3")
            ),
        ]
    )
    let reports = QueueSnapshot.make(
        "reports",
        counts: [.ready: 144, .scheduled: 76],
        totals: ["enqueued": 220],
        oldest: 2_460_000,
        paused: true
    )
    return NamespaceSnapshot(queues: [video, mail, reports], receivedAt: receivedAt)
}

/// Returns a monitor that has read the shop.
func shopModel(isReadOnly: Bool = false) -> MonitorModel {
    var model = MonitorModel(namespace: "shop", place: "redis://10.0.0.5:6379/0", isReadOnly: isReadOnly)
    model.ingest(shop())
    return model
}

extension MonitorModel {
    func grid(_ width: Int, _ height: Int, ascii: Bool = false, now: Duration = .seconds(10.3)) -> Grid {
        let size = ScreenSize(width: width, height: height)
        return MonitorView(self, size: size, now: now, style: Style(usesASCII: ascii)).grid()
    }

    /// Handles keys, given as characters.
    mutating func type(_ text: String) -> [MonitorCommand] { text.flatMap { handle(.character($0)) } }
}

extension InMemoryBroker {
    /// Opens groups with these names.
    func openGroups(_ names: [String], queue: String) async throws -> [OperationID] {
        let groups = names.map { name in
            let arguments = (["name": .string(name)] as JSONValue).serializedBytes()
            return NewOperation(
                envelope: OperationEnvelope(name: GroupTerms.name, arguments: arguments).encoded(),
                links: OperationLinks(group: GroupTerms(ifAbandoned: .close, leaseMilliseconds: 60_000))
            )
        }
        _ = try await enqueue(groups, queue: queue)
        return groups.map(\.id)
    }
}

/// Returns the record and the log of a running operation of the shop.
func shopReading() -> DetailReading {
    let envelope = OperationEnvelope(
        name: "encode.part7",
        arguments: Array(#"{"file":"a.mov","part":7}"#.utf8),
        tags: ["vip"],
        headers: ["tenant": "acme", "note": "\u{1B}[2J"]
    )
    let record = OperationRecord(
        header: OperationHeader(id: id(8), priority: .veryHigh, failedAttempts: 1),
        state: .executing,
        startedAt: noon - 161_000,
        fence: 8,
        enqueuedAt: noon - 200_000,
        envelope: envelope.encoded()
    )
    var detail = OperationDetail(queue: "video", record: record, state: .executing)
    detail.worker = "w2"
    detail.progress = (0.68, "pass 2 of 3")
    let failure = OperationFailure(type: "exit", message: "status 3", attempt: 1, delivery: 1)
    detail.errors = [FailedAttempt(at: noon - 170_000, error: failure.encoded())]
    detail.cancel = CancelTrace(requestedAt: noon - 1_000, reason: "wrong\u{1B}file", by: "ann@h")
    let address = OperationAddress(queue: "video", id: id(8))
    let lines = ["frame 1", "frame \u{1B}[2J 2"].map { LogLine(Array($0.utf8), at: noon - 1_000) }
    return DetailReading(address: address, detail: detail, time: noon, firstLine: 0, lines: lines)
}
