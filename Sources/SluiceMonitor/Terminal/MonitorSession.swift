import Foundation
import Operations
import SluiceOperator
import TerminalText

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// One run of the monitor: passes keys, data and time to the model, draws it, and performs its commands.
///
/// Keys, reads and changes are separate tasks, so that a key is handled at once even while Redis does not answer.
struct MonitorSession {
    private enum Event: Sendable {
        case terminal(TerminalEvent)
        case fetched(MonitorFetcher.Outcome)
        case changed(Notice)
        /// The outcome of saving a file.
        case saved(Notice)
        case planned(BulkPlan)
        case planFailed(String)
        case progressed(BulkProgress)
        /// Time has passed, so ages are drawn again.
        case tick
    }

    private static let tick = Duration.milliseconds(500)
    private static let resizePause = Duration.milliseconds(50)
    /// The time between two reads while the window has no focus.
    private static let unfocusedInterval = Duration.seconds(5)

    private let inspection: any OperatorBroker
    private let terminal: Terminal
    private let options: MonitorOptions
    private let origin = ContinuousClock.now
    private let fetcher: MonitorFetcher
    private let events: AsyncStream<Event>
    private let inbox: AsyncStream<Event>.Continuation
    private var model: MonitorModel
    private var interval: Duration
    private var shown: Grid?
    /// The change of many operations, or its counting.
    private var work: Task<Void, Never>?
    /// The change that waits for Redis.
    private var gate: ChangeGate?

    init(_ inspection: any OperatorBroker, terminal: Terminal, options: MonitorOptions) {
        self.inspection = inspection
        self.terminal = terminal
        self.options = options
        interval = options.interval
        fetcher = MonitorFetcher(inspection, origin: origin, interval: options.interval, view: options.view)
        (events, inbox) = AsyncStream.makeStream(of: Event.self)
        model = MonitorModel(
            namespace: options.namespace,
            place: options.place,
            interval: options.interval,
            isReadOnly: options.isReadOnly
        )
        model.view = options.view
    }

    mutating func run() async -> Int32 {
        terminal.enter()
        defer { terminal.leave() }
        // The tasks are not awaited at the end: a read that waits for Redis must not delay quitting.
        let feeders = feed()
        defer { feeders.forEach { $0.cancel() } }
        draw()
        for await event in events {
            if let status = take(event) { return status }
            // The fetcher delivers the data just after the interval.
            if case .fetched(.interval) = event { continue }
            draw()
        }
        return 0
    }

    private func feed() -> [Task<Void, Never>] {
        [
            Task { [inbox, terminal] in for await event in terminal.events { inbox.yield(.terminal(event)) } },
            Task { [inbox, fetcher] in await fetcher.run { inbox.yield(.fetched($0)) } },
            Task { [inbox] in
                while !Task.isCancelled {
                    try? await Task.sleep(for: Self.tick)
                    inbox.yield(.tick)
                }
            },
        ]
    }

    private mutating func draw() {
        // After Ctrl-Z the screen is the shell's until the process continues.
        guard terminal.isFullScreen else { return }
        let view = MonitorView(model, size: terminal.size, now: ContinuousClock.now - origin, style: options.style)
        let grid = view.grid()
        model.detailScroll = view.detailScroll
        terminal.write(GridDiff.bytes(from: shown, to: grid, style: options.style))
        shown = grid
    }
}

// MARK: - Events

extension MonitorSession {
    /// - Returns: the exit status, if the monitor ends.
    private mutating func take(_ event: Event) -> Int32? {
        switch event {
        case .terminal(let event): return take(event)
        case .fetched(let outcome): return take(outcome)
        case .changed(let notice):
            gate = nil
            model.end(notice)
            fetcher.hurry()
        case .saved(let notice): model.notice = notice
        case .planned(let plan): model.ingest(plan)
        case .planFailed(let message): model.ingestPlanFailure(SafeText.line(message))
        case .progressed(let progress):
            model.ingest(progress)
            if progress.end != nil { fetcher.hurry() }
        case .tick: break
        }
        return nil
    }

    private mutating func take(_ event: TerminalEvent) -> Int32? {
        switch event {
        case .keys(let keys): return take(keys)
        case .resized:
            // Resizing a window sends many events. A tick after the last one draws the new size.
            Task { [inbox] in
                try? await Task.sleep(for: Self.resizePause)
                inbox.yield(.tick)
            }
        case .continued:
            terminal.enter()
            shown = nil
            fetcher.hurry()
        case .signal(let signal): return 128 + signal
        case .closed: return 128 + SIGHUP
        }
        return nil
    }

    private mutating func take(_ keys: [Key]) -> Int32? {
        let screen = model.screen
        for key in keys {
            switch key {
            case .focusOut: interval = max(model.interval, Self.unfocusedInterval)
            case .focusIn:
                interval = model.interval
                fetcher.hurry()
            default:
                for command in model.handle(key) {
                    if let status = perform(command) { return status }
                }
            }
        }
        focus()
        // The data of such a screen is read only while the screen is shown.
        if [.workers, .operations, .events].contains(model.screen), screen != model.screen { fetcher.hurry() }
        return nil
    }

    private mutating func take(_ outcome: MonitorFetcher.Outcome) -> Int32? {
        switch outcome {
        case .interval(let interval): model.truth.interval = interval
        case .failed(let message, let retryAt): model.ingestFailure(message, retryAt: retryAt)
        case .deaf(let reason):
            model.notice = Notice("changes show only at each interval: \(SafeText.line(reason))", .warning)
        case .lost(let workers): model.ingest(workers)
        case .schedules(let schedules): model.ingest(schedules)
        case .groups(let groups): model.ingest(groups)
        case .listed(let reading): model.ingest(reading)
        case .statistics(let statistics): model.ingest(statistics)
        case .events(let reading, let instant): model.ingest(reading, at: instant)
        case .read(let snapshot, let detail):
            model.ingest(snapshot)
            if let node = snapshot.absent.first { model.notice = Notice(node.sentence, .warning) }
            if let detail { model.ingest(detail) }
            focus()
            if options.endsWhenIdle, model.isIdle { return 0 }
        }
        return nil
    }

    private func focus() {
        fetcher.look(
            at: MonitorFetcher.Focus(
                interval: interval,
                address: model.detail?.address,
                nextLine: model.detail?.nextLine ?? 0,
                showsGraph: model.readsGraph,
                showsLost: model.screen == .workers && model.detail == nil,
                showsSchedules: model.screen == .queues && model.detail == nil,
                listed: model.screen == .operations && model.detail == nil ? model.operations.request : nil,
                showsEvents: model.screen == .events && model.detail == nil,
                showsStatistics: [.overview, .queues].contains(model.screen) && model.detail == nil
            )
        )
    }
}

// MARK: - Commands

extension MonitorSession {
    private mutating func perform(_ command: MonitorCommand) -> Int32? {
        switch command {
        case .quit: return 0
        case .interrupt: return 128 + SIGINT
        case .suspend: terminal.suspend()
        case .redraw: shown = nil
        case .refresh:
            focus()
            fetcher.hurry()
        case .withdraw: withdraw()
        case .cancel(let address, let reason):
            let short = "…" + address.id.description.suffix(ShortID.minimum)
            change("cancel \(short)", in: [address.queue]) { [inspection, options] in
                let request = CancelRequest(reason: reason, by: options.identity)
                let outcome = try await inspection.cancelWithMembers(
                    [address.id],
                    request: request,
                    queue: address.queue
                ).first
                return Notice(address.id, outcome)
            }
        case .plan(let change): plan(change)
        case .change(let change, let reason, let expected): perform(change, reason, expected)
        case .stopWork: work?.cancel()
        case .copy(let text): terminal.copy(text)
        case .interval(let chosen):
            interval = chosen
            focus()
            fetcher.hurry()
        case .export(let json, let file):
            save(json, file)
        case .control(let order, let worker):
            change("\(order.word) \(worker.label)", in: worker.queues) { [inspection, options] in
                let isStored = try await inspection.control(order, worker: worker, by: options.identity)
                return Notice(worker.answer(to: order, isStored: isStored), isStored ? .finished : .warning)
            }
        case .setPaused(let paused, let queue):
            change("\(paused ? "pause" : "resume") queue \(queue)", in: [queue]) { [inspection, options] in
                let by = options.identity
                try await inspection.setPaused(paused ? .pause(by: by) : .resume(by: by), queue: queue)
                return Notice("queue \(queue) \(paused ? "paused" : "resumed")", .finished)
            }
        }
        return nil
    }

    /// Saves JSON in the working folder. An existing file is never replaced.
    private func save(_ json: JSONValue, _ file: String) {
        Task { [inbox] in
            let text = json.prettySerialized() + "\n"
            do {
                try Data(text.utf8).write(to: URL(fileURLWithPath: file), options: .withoutOverwriting)
                inbox.yield(.saved(Notice("saved \(file)", .finished)))
            } catch {
                inbox.yield(.saved(Notice("not saved: \(error)", .dead)))
            }
        }
    }

    private mutating func plan(_ change: BulkChange) {
        let run = BulkRun(broker: inspection, change: change, view: options.view)
        work = Task { [inbox] in
            do {
                var plan = try await run.plan()
                plan.change = change
                inbox.yield(.planned(plan))
            } catch {
                inbox.yield(.planFailed("\(error)"))
            }
        }
    }

    private mutating func perform(_ change: BulkChange, _ reason: String, _ expected: Int) {
        let run = BulkRun(broker: inspection, change: change, view: options.view)
        work = Task { [inbox, options] in
            await run.run(reason: reason, by: options.identity, expected: expected) { inbox.yield(.progressed($0)) }
        }
    }

    /// Sends a change as soon as Redis answers, and shows the outcome at the bottom of the screen.
    ///
    /// The change is dropped if Redis does not answer within the timeout of a call.
    ///
    /// - Parameters:
    ///   - text: the change in words.
    ///   - queues: the queues that the change touches.
    private mutating func change(
        _ text: String,
        in queues: [String],
        _ body: @escaping @Sendable () async throws -> Notice
    ) {
        let (gate, change) = (ChangeGate(), PendingChange(text))
        self.gate = gate
        model.begin(change)
        Task { [inbox, inspection] in
            do { for queue in queues { try await inspection.requireAnswer(of: queue) } } catch {
                if gate.withdraw() { inbox.yield(.changed(change.dropped(error))) }
                return
            }
            guard gate.send() else { return }
            do {
                inbox.yield(.changed(try await body()))
            } catch {
                inbox.yield(.changed(Notice("not done: \(error)", .dead)))
            }
        }
    }

    private mutating func withdraw() {
        guard let gate else { return }
        let isWithdrawn = gate.withdraw()
        model.withdraw(isWithdrawn)
        if isWithdrawn { self.gate = nil }
    }
}

extension Notice {
    /// The notice about the outcome of a cancel.
    fileprivate init(_ id: OperationID, _ outcome: CancelOutcome?) {
        let id = "…" + id.description.suffix(ShortID.minimum)
        switch outcome {
        case .cancelled, .forced: self.init("\(id) cancelled", .cancelled)
        case .requested, .group: self.init("\(id): cancel requested", .cancelled)
        case .ended(let state, _):
            self.init("\(id) is already \(state.rawValue); nothing was changed", .warning)
        case .unknown, nil: self.init("\(id) does not exist any more; nothing was changed", .warning)
        }
    }
}
