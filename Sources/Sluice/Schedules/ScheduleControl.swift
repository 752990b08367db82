import Foundation
import Schedules

extension SluiceClient {
    /// The schedules of the namespace, which enqueue operations repeatedly.
    ///
    /// ```swift
    /// let nightly = Recurrence.cron("0 3 * * *", zone: "Europe/Berlin")
    /// try await sluice.schedules.set("nightly", nightly, Report(), .queue("reports"))
    /// try await sluice.schedules.set("cleanup", .every(.seconds(600)), Cleanup())
    /// ```
    public var schedules: ScheduleControl { ScheduleControl(client: self) }
}

/// Sets, reads and changes schedules. See `SluiceClient.schedules`.
///
/// Any worker of a schedule's queue enqueues due operations: schedules need no leader, and each instant is enqueued
/// once. Nothing is enqueued while no worker runs.
public struct ScheduleControl: Sendable {
    let client: SluiceClient
    /// The name that changes are recorded with.
    private var by = SluiceClient.identity
    private static let tries = 10

    init(client: SluiceClient) { self.client = client }

    /// Returns this control, with changes recorded as those of a person.
    package func changing(by name: String) -> ScheduleControl {
        var control = self
        control.by = name
        return control
    }

    // MARK: Setting

    /// Creates or replaces a schedule. Safe at every start of a program: an equal schedule stays unchanged, and a
    /// paused one stays paused.
    ///
    /// - Parameters:
    ///   - id: the name of the schedule, unique in its queue; see `NameRule`.
    ///   - recurrence: when the schedule runs.
    ///   - operation: the operation to enqueue.
    ///   - options: queue, priority, tags, headers, attempts, expiry and run timeout of the enqueued operations.
    ///   - rules: missed instants, `ifExists`, jitter, start and end.
    /// - Returns: the schedule as it is stored now.
    /// - Throws: `OperationsError` with `.invalidOption` for a recurrence that is invalid or has no instant left;
    ///   `.refused` if the queue has 1,000 other schedules; or as an enqueue.
    @discardableResult
    public func set<Body: OperationArguments>(
        _ id: String,
        _ recurrence: Recurrence,
        _ operation: Body,
        _ options: EnqueueOptions...,
        rules: ScheduleRules = ScheduleRules()
    ) async throws -> OperationSchedule {
        let options = EnqueueOptions(options)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        let new = try options.operation(
            name: Body.name,
            arguments: Array(encoder.encode(operation)),
            retry: Body.retryPolicy,
            serverTime: nil
        )
        return try await set(id, recurrence, new, options, rules)
    }

    /// Creates or replaces a schedule by the name of its operation, for programs that do not have its type.
    ///
    /// - Parameters:
    ///   - id: the name of the schedule, unique in its queue; see `NameRule`.
    ///   - recurrence: when the schedule runs.
    ///   - name: the name under which workers registered the operation.
    ///   - arguments: one JSON value, usually an object.
    ///   - options: queue, priority, tags, headers, attempts, expiry and run timeout of the enqueued operations.
    ///   - rules: missed instants, `ifExists`, jitter, start and end.
    /// - Returns: the schedule as it is stored now.
    /// - Throws: as the function that takes an operation.
    @discardableResult
    public func set(
        _ id: String,
        _ recurrence: Recurrence,
        name: String,
        arguments: JSONArguments = [:],
        _ options: EnqueueOptions...,
        rules: ScheduleRules = ScheduleRules()
    ) async throws -> OperationSchedule {
        let options = EnqueueOptions(options)
        let new = try options.operation(name: name, arguments: arguments.value.serializedBytes(), serverTime: nil)
        return try await set(id, recurrence, new, options, rules)
    }

    private func set(
        _ id: String,
        _ recurrence: Recurrence,
        _ new: NewOperation,
        _ options: EnqueueOptions,
        _ rules: ScheduleRules
    ) async throws -> OperationSchedule {
        guard options.id == nil, options.start == nil, options.tracked != false else {
            throw OperationsError(
                .invalidOption,
                "a schedule sets the ids and times of its operations, which are tracked: drop .id, .delay, "
                    + ".at and .untracked"
            )
        }
        guard new.links == nil else {
            throw OperationsError(
                .invalidOption,
                "a schedule does not support .unique, .limitKey, .after and .group: drop them, "
                    + "and use ScheduleRules(ifExists:) instead of .unique"
            )
        }
        let definition = ScheduleDefinition(
            recurrence: recurrence,
            anchor: 0,
            rules: rules,
            priority: new.priority,
            expiresMilliseconds: new.expiresMilliseconds,
            envelope: new.envelope
        )
        return try await store(definition, id, queue: options.queueName).schedule
    }

    package enum Stored: Sendable { case created, changed, unchanged }

    /// - Parameter mayReplace: false = refuse if another schedule with this id exists.
    package func store(
        _ new: ScheduleDefinition,
        _ id: String,
        queue: String,
        mayReplace: Bool = true
    ) async throws -> (schedule: OperationSchedule, outcome: Stored) {
        try check(id, queue)
        try new.check()
        try Self.checkKey(id, new.rules.ifExists)
        for _ in 0..<Self.tries {
            let page = try await client.broker.schedule(id, queue: queue)
            let known = page.schedules.first
            let before = known.flatMap { try? ScheduleDefinition($0, queue: queue, seal: client.seal) }
            let definition = anchored(new, before, now: page.time)
            if let known, before == definition, known.runs.fault == nil {
                return (OperationSchedule(known, queue: queue), .unchanged)
            }
            guard known == nil || mayReplace else {
                throw OperationsError(.refused, "schedule \(id) exists already in queue \(queue)")
            }
            let due = try due(definition, known, before, now: page.time)
            let change = ScheduleChange(
                id: id,
                kind: .set(definition: try sealed(definition, id, queue)),
                revision: known?.revision ?? 0,
                due: known?.isPaused == true ? nil : due,
                isPaused: known?.isPaused ?? false,
                detail: "\(definition.recurrence)"
            )
            if try await send(change, queue) { return (try await find(id, queue), known == nil ? .created : .changed) }
        }
        throw Self.contended(id)
    }

    /// Keeps the anchor of an unchanged interval, so that a repeated set changes nothing.
    private func anchored(_ new: ScheduleDefinition, _ before: ScheduleDefinition?, now: Int64) -> ScheduleDefinition {
        var definition = new
        guard new.recurrence.interval != nil else { return definition }
        if let before, before.recurrence == new.recurrence, before.rules.start == new.rules.start {
            definition.anchor = before.anchor
        } else {
            definition.anchor = new.rules.start?.milliseconds ?? now
        }
        return definition
    }

    private func due(
        _ definition: ScheduleDefinition,
        _ known: StoredSchedule?,
        _ before: ScheduleDefinition?,
        now: Int64
    ) throws(OperationsError) -> Int64 {
        // Keep an instant that has come and whose operation is not enqueued yet.
        if let due = known?.due, let before, before.recurrence == definition.recurrence,
            before.rules == definition.rules
        {
            return due
        }
        guard let next = definition.next(after: now) else {
            throw OperationsError(
                .invalidOption,
                "\(definition.recurrence) has no instant between now and the schedule's end: use a later end"
            )
        }
        return next
    }

    private func sealed(
        _ definition: ScheduleDefinition,
        _ id: String,
        _ queue: String
    ) throws(OperationsError) -> [UInt8] {
        let bytes = definition.encoded()
        let sealed = try client.seal?.sealSchedule(bytes, id: id, queue: queue) ?? bytes
        guard sealed.count <= StoredSchedule.definitionBytes else {
            throw OperationsError(
                .tooLarge,
                "schedule \(id) has \(sealed.count) bytes; it may have \(StoredSchedule.definitionBytes): store the data elsewhere and pass its "
                    + "address"
            )
        }
        return sealed
    }

    /// - Returns: false if the schedule was changed meanwhile and has to be read again.
    private func send(_ change: ScheduleChange, _ queue: String) async throws -> Bool {
        switch try await client.broker.setSchedule(change, by: by, queue: queue) {
        case .done: return true
        case .outdated: return false
        case .full:
            throw OperationsError(
                .refused,
                "queue \(queue) has \(StoredSchedule.limit) schedules: remove one, or use another queue"
            )
        }
    }

    private static func contended(_ id: String) -> OperationsError {
        OperationsError(.refused, "other clients changed schedule \(id) during \(tries) attempts: try again")
    }

    private func check(_ id: String, _ queue: String) throws(OperationsError) {
        try NameRule.check(id, role: "schedule")
        try NameRule.check(queue, role: "queue")
    }

    /// - Throws: `.invalidOption` if the id is too long for a part of a unique key.
    package static func checkKey(_ id: String, _ ifExists: ScheduleRules.IfExists?) throws(OperationsError) {
        let most = UniqueKeyRule.longest - ScheduleDefinition.uniqueKey(of: "").utf8.count
        guard ifExists == nil || id.utf8.count <= most else {
            throw OperationsError(
                .invalidOption,
                "schedule \(OperationsError.quoted(id)) has \(id.utf8.count) characters: use at most \(most) with ifExists"
            )
        }
    }

    // MARK: Reading

    /// Reads all schedules of a queue or of all queues, in the order of queues and ids.
    ///
    /// - Parameter queue: the name of the queue; nil = all queues.
    public func all(queue: String? = nil) async throws -> [OperationSchedule] {
        var found: [OperationSchedule] = []
        var queues = queue.map { [$0] } ?? []
        if queue == nil { queues = try await client.queues() }
        for queue in queues {
            found += try await client.broker.allSchedules(queue: queue).map { OperationSchedule($0, queue: queue) }
        }
        return found
    }

    /// Reads one schedule.
    ///
    /// - Returns: nil if the queue has no schedule with this id.
    public func schedule(_ id: String, queue: String = SluiceDefaults.queue) async throws -> OperationSchedule? {
        try check(id, queue)
        return try await client.broker.schedule(id, queue: queue).schedules.first.map {
            OperationSchedule($0, queue: queue)
        }
    }

    private func find(_ id: String, _ queue: String) async throws -> OperationSchedule {
        guard let found = try await schedule(id, queue: queue) else {
            throw OperationsError(.notFound, "queue \(queue) has no schedule \(OperationsError.quoted(id))")
        }
        return found
    }

    // MARK: Changing

    /// Pauses a schedule: instants pass without an operation until the schedule is resumed. Operations that were
    /// enqueued before continue.
    ///
    /// - Returns: false if the schedule was paused already.
    /// - Throws: `OperationsError` with `.notFound`, or as any call.
    @discardableResult
    public func pause(_ id: String, queue: String = SluiceDefaults.queue) async throws -> Bool {
        for _ in 0..<Self.tries {
            let known = try await find(id, queue)
            if known.state == .paused { return false }
            let change = ScheduleChange(
                id: id,
                kind: .pause,
                revision: known.stored.revision,
                due: nil,
                isPaused: true
            )
            if try await send(change, queue) { return true }
        }
        throw Self.contended(id)
    }

    /// Resumes a paused schedule, from its next future instant on.
    ///
    /// - Returns: false if the schedule was not paused.
    /// - Throws: `OperationsError` with `.notFound`, or as any call.
    @discardableResult
    public func resume(_ id: String, queue: String = SluiceDefaults.queue) async throws -> Bool {
        try check(id, queue)
        for _ in 0..<Self.tries {
            let page = try await client.broker.schedule(id, queue: queue)
            let known = try page.schedules.first.map { OperationSchedule($0, queue: queue) } ?? notFound(id, queue)
            guard known.state == .paused else { return false }
            let definition = try ScheduleDefinition(known.stored.definition)
            let change = ScheduleChange(
                id: id,
                kind: .resume,
                revision: known.stored.revision,
                due: definition.next(after: page.time)
            )
            if try await send(change, queue) { return true }
        }
        throw Self.contended(id)
    }

    private func notFound(_ id: String, _ queue: String) throws -> OperationSchedule {
        throw OperationsError(.notFound, "queue \(queue) has no schedule \(OperationsError.quoted(id))")
    }

    /// Removes a schedule. Operations that it has enqueued stay.
    ///
    /// - Returns: false if the queue has no schedule with this id.
    @discardableResult
    public func remove(_ id: String, queue: String = SluiceDefaults.queue) async throws -> Bool {
        try check(id, queue)
        return try await client.broker.removeSchedule(id, by: by, queue: queue)
    }

    /// Enqueues the operation of a schedule now, in addition to its instants. The `ifExists` policy of the schedule
    /// applies.
    ///
    /// - Returns: a reference to wait for, follow or cancel the operation. With `join` or `skip` it may refer to the
    ///   operation in flight; then `isNew` is false.
    /// - Throws: `OperationsError` with `.notFound`; with `.refused` if the keys of this client do not accept the
    ///   schedule; or as an enqueue.
    @discardableResult
    public func runNow(_ id: String, queue: String = SluiceDefaults.queue) async throws -> OperationReference {
        let stored = try await find(id, queue).stored
        let definition: ScheduleDefinition
        do { definition = try ScheduleDefinition(stored, queue: queue, seal: client.seal) } catch let failure
            as SealFailure
        {
            throw OperationsError(
                .refused,
                "the keys of this client do not accept schedule \(id): \(failure.message); "
                    + "use the keys with which it was set"
            )
        }
        let new = NewOperation(
            priority: definition.priority,
            expiresMilliseconds: definition.expiresMilliseconds,
            envelope: definition.envelope(of: id),
            links: definition.links(of: id)
        )
        let reference = try await client.enqueue([new], queue: queue)[0]
        let change = QueueChange(
            .runSchedule,
            by: by,
            count: reference.isNew ? 1 : 0,
            detail: reference.isNew ? id : "\(id), in flight already: \(reference.id)"
        )
        // The operation is enqueued, also if its event cannot be stored.
        try? await client.broker.noteEvent(change, of: reference.id, queue: queue)
        return reference
    }
}
