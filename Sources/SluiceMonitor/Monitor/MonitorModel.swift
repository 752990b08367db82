import Operations
import SluiceOperator
import TerminalText

/// The screens of the monitor, with the numbers of their keys.
package enum MonitorScreen: Int, Sendable, CaseIterable {
    case overview = 1
    case operations = 2
    case queues = 3
    case workers = 4
    case events = 5

    var title: String {
        switch self {
        case .overview: "Overview"
        case .operations: "Operations"
        case .queues: "Queues"
        case .workers: "Workers"
        case .events: "Events"
        }
    }
}

/// The item of a row. The selection follows the item, not the row's place.
package enum MonitorItem: Sendable, Hashable {
    case queue(String)
    case operation(OperationAddress)
    case worker(String)
}

/// A sentence at the bottom of the screen.
package struct Notice: Sendable, Equatable {
    package var text: String
    package var role: TextRole

    package init(_ text: String, _ role: TextRole = .plain) {
        self.text = text
        self.role = role
    }
}

/// The state of the monitor as a value: snapshots and keys go in, screens and commands come out.
package struct MonitorModel: Sendable {
    /// The namespace, shown in the header.
    package var namespace: String
    package var place: String
    /// Whether keys that change something are disabled.
    package var isReadOnly: Bool
    /// The keys and the redaction with which arguments and results are shown.
    package var view = PayloadView()

    package internal(set) var screen = MonitorScreen.overview
    package internal(set) var detail: DetailPane?
    package internal(set) var dialog: Dialog?
    package internal(set) var prompt: Prompt?
    /// A change of many operations that runs, or that ended with refusals.
    package internal(set) var work: BulkProgress?
    package internal(set) var help: HelpPane?
    package internal(set) var notice: Notice?
    /// A change that waits for Redis.
    package internal(set) var pending: PendingChange?
    /// Whether the shown data is frozen, and new data is kept for later.
    package internal(set) var isFrozen = false
    package internal(set) var truth: TruthMeter
    /// The shown data.
    package private(set) var board: Board?
    /// The snapshots of the shown data.
    private(set) var snapshot: NamespaceSnapshot?
    /// The statistics of the last hour; nil = not read yet.
    private(set) var statistics: StatisticsBoard?
    /// The operations screen.
    package internal(set) var operations = OperationsPane()
    /// The events screen.
    package internal(set) var events = EventsPane()
    /// The newest lost workers, for the workers screen.
    private(set) var lost: [LostSummary] = []
    /// The schedules, for the queues screen.
    private(set) var schedules: [ScheduleRow] = []
    /// The groups that have not ended, for the queues screen.
    private(set) var groups: [GroupRow] = []
    /// The newest data, if the screen is frozen and shows older data.
    private var held: Board?
    var selection = Selection()
    /// Whether lists show whole ids.
    package internal(set) var isWide = false
    /// The chosen time between two reads.
    package internal(set) var interval: Duration
    /// The text that `n` and `N` search for.
    var searched = ""
    /// The greatest scroll position of the detail screen, as it was drawn last.
    package var detailScroll = 0

    private var rates = NamespaceRates()
    private var history = ThroughputHistory()
    private var last: (ended: Int64, at: Duration)?

    package init(namespace: String, place: String, interval: Duration = .seconds(1), isReadOnly: Bool = false) {
        self.namespace = namespace
        self.place = place
        self.isReadOnly = isReadOnly
        self.interval = interval
        truth = TruthMeter(interval: interval)
    }
}

// MARK: - Data

extension MonitorModel {
    /// Takes a round of snapshots.
    package mutating func ingest(_ snapshot: NamespaceSnapshot) {
        truth.answered(at: snapshot.receivedAt)
        rates.add(snapshot)
        let ended = FlowTotals(snapshot.totals).ended
        if let last {
            history.add(Double(max(0, ended - last.ended)), from: last.at, to: snapshot.receivedAt)
        }
        last = (ended, snapshot.receivedAt)
        let board = Board(snapshot, rates: rates, throughput: history.newest(120))
        if isFrozen, self.board != nil {
            held = board
        } else {
            self.snapshot = snapshot
            show(board)
        }
    }

    /// Notes that a round failed.
    package mutating func ingestFailure(_ message: String, retryAt: Duration) {
        truth.failed(message, retryAt: retryAt)
    }

    /// Takes the details of the operation on the detail screen.
    package mutating func ingest(_ reading: DetailReading) {
        guard detail?.address == reading.address else { return }
        var reading = reading
        if isFrozen { reading.graph = nil }
        detail?.update(reading)
    }

    /// Whether the screen shows the graph of an operation and is not frozen.
    package var readsGraph: Bool { detail?.tab == .graph && !isFrozen }

    /// Takes the lost workers.
    package mutating func ingest(_ workers: [LostSummary]) {
        if !isFrozen { lost = workers }
    }

    /// Takes the schedules.
    package mutating func ingest(_ schedules: [ScheduleRow]) {
        if !isFrozen { self.schedules = schedules }
    }

    /// Takes the groups.
    package mutating func ingest(_ groups: [GroupRow]) {
        if !isFrozen { self.groups = groups }
    }

    /// Takes the rows of the operations screen. A frozen screen takes only the rows of another list.
    package mutating func ingest(_ reading: OperationsReading) {
        guard !isFrozen || operations.rows == nil || reading.request.pages != operations.reading?.request.pages
        else { return }
        operations.update(reading)
        if let unknown = reading.unknown.first { notice = Notice(unknown, .warning) }
        if screen == .operations { selection.settle(among: items) }
    }

    /// Takes events. A frozen screen ignores them.
    package mutating func ingest(_ reading: EventsReading, at instant: Duration) {
        if !isFrozen { events.update(reading, at: instant) }
    }

    /// Takes the statistics of the last hour.
    package mutating func ingest(_ statistics: StatisticsBoard) {
        if !isFrozen { self.statistics = statistics }
    }

    mutating func setFrozen(_ frozen: Bool) {
        isFrozen = frozen
        if !frozen, let held { show(held) }
        held = nil
    }

    private mutating func show(_ board: Board) {
        self.board = board
        selection.settle(among: items)
    }

    /// Whether no operation waits or runs, by the newest data.
    package var isIdle: Bool { (held ?? board)?.isIdle ?? false }

    /// The selectable rows of the screen, in order.
    var items: [MonitorItem] {
        guard let board else { return [] }
        switch screen {
        case .overview:
            return board.queues.map { .queue($0.name) } + board.executing.map { .operation($0.address) }
        case .operations: return (operations.rows ?? []).map { .operation($0.address) }
        case .queues: return board.queues.map { .queue($0.name) }
        case .workers: return board.workers.map { .worker($0.id) }
        case .events: return []
        }
    }

    /// The item of the selected row.
    package var selectedItem: MonitorItem? { selection.item }

    func executing(_ address: OperationAddress) -> ExecutingSummary? {
        board?.executing.first { $0.address == address }
    }

    func worker(_ id: String) -> WorkerSummary? { board?.workers.first { $0.id == id } }

    func queue(_ name: String) -> QueueSummary? { board?.queues.first { $0.name == name } }
}

extension ExecutingSummary {
    var address: OperationAddress { OperationAddress(queue: queue, id: id) }
}

/// The selected row. Until a key moves the selection, the row is the longest-running operation.
struct Selection: Sendable, Equatable {
    private(set) var item: MonitorItem?
    private var position = 0
    private var isChosen = false
    /// Whether the selection stays with its item when rows change places.
    var follows = true

    /// Finds the selected item in new rows. If the item is gone, selects the row in its place.
    mutating func settle(among items: [MonitorItem]) {
        if isChosen, follows, let item, let index = items.firstIndex(of: item) {
            position = index
        } else if isChosen {
            position = max(0, min(position, items.count - 1))
            item = items.isEmpty ? nil : items[position]
        } else {
            position = items.firstIndex { if case .operation = $0 { true } else { false } } ?? 0
            item = items.isEmpty ? nil : items[position]
        }
    }

    mutating func choose(_ index: Int, of items: [MonitorItem]) {
        (isChosen, position, item) = (true, index, items[index])
    }

    mutating func move(by distance: Int, among items: [MonitorItem]) {
        guard !items.isEmpty else { return }
        isChosen = true
        position = max(0, min(items.count - 1, position + distance))
        item = items[position]
    }

    /// Whether the last item is selected.
    func isLast(of items: [MonitorItem]) -> Bool { !items.isEmpty && item == items.last }

    /// Resets the selection for another list.
    mutating func reset(among items: [MonitorItem]) {
        let follows = follows
        self = Selection()
        self.follows = follows
        settle(among: items)
    }
}
