import Operations
import TerminalText

/// Examines a namespace, and fixes findings of the chosen codes.
///
/// 1. Server: settings and state.
/// 2. Keys: each record is in the place that it names. Each key belongs to an operation with a record. Each queue is in
///    the list of queues.
/// 3. Queues: counters, leases, and places. Each entry of a place has a record that names this place.
/// 4. Lost operations: records that were ready in step 2, were in no lane in step 3, and are unchanged.
///
/// Queues with findings are examined twice more; only findings of all three examinations count. The script that finds a
/// problem also fixes it.
package struct Doctor: Sendable {
    package typealias Broker = BrokerAudit & MonitorBroker

    /// The largest number of keys and entries to examine.
    package struct Budget: Sendable {
        package var keys: Int
        /// The largest number of entries in each place of a queue.
        package var entries: Int

        package static let short = Budget(keys: 25_000, entries: 5000)
        package static let deep = Budget(keys: .max, entries: .max)
    }

    /// The number of things that were examined.
    package struct Coverage: Sendable {
        package var queues = 0
        package var keys = 0
        package var entries = 0
        /// Whether everything was examined.
        package var isComplete = true

        package init(isComplete: Bool = true) { self.isComplete = isComplete }
    }

    /// The number of entries for one call of a script. A call takes 1 to 2 ms, which does not disturb other clients.
    package static let step = 200
    /// The number of repeated examinations of a queue with findings.
    private static let looksAgain = 2
    /// The largest number of times that a step of a fix runs: a fix may reveal further problems.
    private static let fixesAgain = 3

    package let broker: any Broker
    package let budget: Budget
    /// The queues to examine; nil = all queues, and the servers.
    package private(set) var only: Set<String>?
    /// The codes of findings to fix, by queue.
    package private(set) var fixes: [String: Set<String>] = [:]
    /// Findings that were fixed.
    package private(set) var fixed = Chart()
    /// Called from time to time with the current step.
    package let progress: @Sendable (String) -> Void
    package var chart = Chart()
    package var coverage = Coverage()
    package var servers: [ServerAudit] = []

    package init(_ broker: any Broker, budget: Budget, progress: @escaping @Sendable (String) -> Void) {
        self.broker = broker
        self.budget = budget
        self.progress = progress
    }

    /// Examines everything once, and queues with findings twice more.
    package mutating func run() async throws {
        try await examine()
        for _ in 0..<Self.looksAgain where !chart.queues.isEmpty {
            chart.keepThose(alsoIn: try await examined(chart.queues, fixing: [:]).chart)
        }
        chart.putCountersLast()
        if !coverage.isComplete { chart.add(Self.incomplete(coverage)) }
    }

    /// Fixes the findings, and examines everything again.
    package mutating func fix() async throws {
        var left = chart
        let queues = chart.queues
        for step in FixStep.allCases {
            for _ in 0..<Self.fixesAgain {
                let codes = left.codes(of: step)
                guard !codes.isEmpty else { break }
                fixed.add(try await examined(Set(codes.keys), fixing: codes).fixed)
                left = try await examined(queues, fixing: [:]).chart
            }
        }
        (chart, coverage) = (Chart(), Coverage())
        try await run()
    }

    /// Examines some queues once.
    private func examined(_ queues: Set<String>, fixing codes: [String: Set<String>]) async throws -> Doctor {
        var doctor = Doctor(broker, budget: budget, progress: progress)
        (doctor.only, doctor.fixes) = (queues, codes)
        try await doctor.examine()
        return doctor
    }

    private mutating func examine() async throws {
        if only == nil {
            servers = try await broker.auditServers()
            for server in servers { for diagnosis in ServerExamination(server).diagnoses { chart.add(diagnosis) } }
        }
        if only == nil { try await examineChanges() }
        let before = try await broker.queues()
        var walk = try await walkKeys()
        // A queue is registered before its first key is written. The second read of the list, after the keys, therefore
        // includes every queue with a key.
        let known = try await broker.queues()
        for queue in walk.queues.subtracting(known).sorted() { try await findUnregistered(queue) }
        let queues = walk.queues.union(before).union(known).filter(isMeant).sorted()
        coverage.queues = queues.count
        if only == nil, let first = queues.first, let refusal = try await broker.auditListening(queue: first) {
            chart.add(ServerExamination.deaf(refusal))
        }
        for queue in queues { try await examine(queue, &walk) }
    }

    private func isMeant(_ queue: String) -> Bool { only?.contains(queue) ?? true }

    private mutating func findUnregistered(_ queue: String) async throws {
        let finding = AuditFinding(
            code: "unregistered",
            queue: queue,
            subject: queue,
            detail: "has keys but is not in the namespace's list of queues, so no list shows it",
            fix: "add it to the namespace"
        )
        if isToFix(finding) { try await broker.register(queue: queue) }
        add(finding)
    }

    package func isToFix(_ finding: AuditFinding) -> Bool { fixes[finding.queue]?.contains(finding.code) ?? false }

    /// Adds a finding, as a fixed one if it was to be fixed and can be fixed.
    package mutating func add(_ finding: AuditFinding) {
        let diagnosis = Diagnosis(finding)
        if isToFix(finding), diagnosis.repair != nil { fixed.add(diagnosis) } else { chart.add(diagnosis) }
    }

    private static func incomplete(_ coverage: Coverage) -> Diagnosis {
        Diagnosis(
            .note,
            "sampled",
            "coverage",
            "examined only \(QuantityText.grouped(coverage.keys)) keys and \(QuantityText.grouped(coverage.entries)) entries, not all",
            fix: "\(Program.name) doctor --deep"
        )
    }
}

// MARK: - Keys

/// The result of reading the keys of a namespace.
package struct KeyWalk: Sendable {
    package var queues: Set<String> = []
    /// The ready records by queue: the id, and a hash of the record's head.
    package var ready: [String: [OperationID: Int]] = [:]
    package var inFlight: [String: Set<String>] = [:]
    package var cancelRequests: [String: Set<String>] = [:]
    package var batches: [String: Set<String>] = [:]
    /// Whether all keys were read.
    package var isComplete = true
}

extension Doctor {
    private mutating func walkKeys() async throws -> KeyWalk {
        var walk = KeyWalk()
        var cursor: String?
        do {
            repeat {
                let page = try await broker.auditKeys(cursor: cursor, limit: 1000)
                cursor = page.cursor
                coverage.keys += page.keys.count
                try await examine(page.keys, &walk)
                progress("\(QuantityText.grouped(coverage.keys)) keys")
            } while cursor != nil && coverage.keys < budget.keys
        } catch let error as OperationsError where error.code == .denied {
            chart.add(ServerExamination.blind(error.message))
            walk.isComplete = false
        }
        if cursor != nil { walk.isComplete = false }
        if !walk.isComplete { coverage.isComplete = false }
        return walk
    }

    private mutating func examine(_ keys: [KeyAudit.Key], _ walk: inout KeyWalk) async throws {
        var ids: [String: Set<String>] = [:]
        for key in keys where isMeant(key.queue) {
            walk.queues.insert(key.queue)
            switch key.kind {
            case .operation(let id): ids[key.queue, default: []].insert(id)
            case .inFlight(let worker): walk.inFlight[key.queue, default: []].insert(worker)
            case .cancelRequests(let worker): walk.cancelRequests[key.queue, default: []].insert(worker)
            case .batch(let number): walk.batches[key.queue, default: []].insert(number)
            case .queue: break
            case .unknown:
                chart.add(
                    Diagnosis(
                        .note,
                        "unknownKey",
                        queue: key.queue,
                        key.name,
                        "this version of sluice does not use this key"
                    ).about(.queue(key.queue))
                )
            }
        }
        for (queue, ids) in ids {
            let ids = Array(ids)
            for start in stride(from: 0, to: ids.count, by: Self.step) {
                let part = Array(ids[start..<min(start + Self.step, ids.count)])
                let audit = try await broker.auditRecords(part, queue: queue, fixing: fixes[queue] ?? [])
                for finding in audit.findings { add(finding) }
                for (id, head) in audit.ready {
                    if let id = OperationID(id) { walk.ready[queue, default: [:]][id] = head.hashValue }
                }
            }
        }
    }
}
