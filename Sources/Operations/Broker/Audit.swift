/// Reads a queue server to find faults. Every call is bounded.
///
/// A call reads its part in one step, so each of its findings was true at that instant. A finding whose code is in
/// `codes` is fixed in the same step; otherwise nothing changes.
package protocol BrokerAudit: Sendable {
    /// Reads the state of each server that holds keys, and the permissions of this connection.
    func auditServers() async throws -> [ServerAudit]

    /// Checks the counters, leases and sizes of a queue.
    func auditQueue(_ queue: String, fixing codes: Set<String>) async throws -> QueueAudit

    /// Checks a part of a place: each operation there has a record that names this place.
    ///
    /// - Parameters:
    ///   - cursor: where to continue; nil = the beginning.
    ///   - limit: about how many entries to check, at most `SluiceDefaults.batch`.
    func auditPlace(_ place: AuditPlace, cursor: String?, limit: Int, queue: String, fixing codes: Set<String>)
        async throws
        -> PlaceAudit

    /// Checks operations by id, at most `SluiceDefaults.batch`: each record lies where it says. Ids are text, because
    /// they come from keys.
    func auditRecords(_ ids: [String], queue: String, fixing codes: Set<String>) async throws -> RecordsAudit

    /// Reads some keys of the namespace, in no order. A walk to the end includes each key that exists from its first to
    /// its last call.
    ///
    /// - Parameter cursor: where to continue; nil = the beginning.
    func auditKeys(cursor: String?, limit: Int) async throws -> KeyAudit

    /// Checks whether this user may receive messages of a queue.
    ///
    /// - Returns: the server's refusal, or nil.
    func auditListening(queue: String) async throws -> String?

    /// Puts a ready operation without a reference in any lane back into its lane, if its record is unchanged since it
    /// was read.
    ///
    /// - Returns: false if the record has changed.
    func returnLost(_ id: OperationID, head: [UInt8], queue: String) async throws -> Bool

    /// Corrects the count of stale references, if the queue is unchanged since it was counted.
    ///
    /// - Returns: false if the queue has changed.
    func setStale(_ count: Int, of queue: QueueAudit) async throws -> Bool

    /// Adds a queue to the list of the namespace.
    func register(queue: String) async throws
}

/// A problem that a script found.
package struct AuditFinding: Sendable, Equatable {
    /// The kind of problem: `counter`, `twice`, `lost`, `noLease` …
    package var code: String
    package var queue: String
    /// The affected operation, worker or field.
    package var subject: String
    package var detail: String
    /// The effect of the fix, in words; empty if the finding has no fix.
    package var fix: String

    package init(code: String, queue: String, subject: String, detail: String, fix: String = "") {
        self.code = code
        self.queue = queue
        self.subject = subject
        self.detail = detail
        self.fix = fix
    }
}

package enum AuditPlace: Sendable, Hashable, CustomStringConvertible {
    /// A priority's lane: 0 (very low) to 4 (very high).
    case lane(Int)
    /// Unhandled operations of one name, by the number of their set.
    case unhandled(String)
    /// Operations that wait in no lane because of a limit key. The text is the number of times the whole queue was
    /// cancelled, and the key.
    case keyed(String)
    /// References in lanes of operations with a limit key: the number and the key, as for `keyed`.
    case next(String)
    /// The operations that a limit key counts as running.
    case running(key: String)
    case scheduled, retrying, blocked, expiring
    case ended(OperationState)
    /// The operations that a worker holds.
    case inFlight(worker: String)
    /// The cancel requests that a worker was notified of.
    case cancelRequests(worker: String)
    /// The rest of a cancelled batch.
    case batch(String)
    /// Unique keys and their holders.
    case unique

    package var description: String {
        switch self {
        case .lane(let number): "lane:\(number)"
        case .unhandled(let number): "unhandled:\(number)"
        case .keyed(let place): "keyed:\(place)"
        case .next(let place): "next:\(place)"
        case .running(let key): "running:\(key)"
        case .scheduled: "scheduled"
        case .retrying: "retrying"
        case .blocked: "blocked"
        case .expiring: "expiring"
        case .ended(let state): "ended:\(String(UnicodeScalar(state.code)))"
        case .inFlight(let worker): "inflight:\(worker)"
        case .cancelRequests(let worker): "cancelling:\(worker)"
        case .batch(let number): "batch:\(number)"
        case .unique: "unique"
        }
    }
}

package struct ServerAudit: Sendable {
    /// Host and port, if the namespace is on several servers.
    package var name: String?
    /// The fields of INFO.
    package var info: [String: String] = [:]
    /// The answer of CONFIG GET; empty without the permission.
    package var configuration: [String: String] = [:]
    /// How many milliseconds the server's clock is ahead of this machine's.
    package var clockAhead: Int64 = 0
    /// The round trip of the clock reading: the bound of its error.
    package var roundTripMilliseconds: Int64 = 0
    /// The user of this connection; nil without the permission to ask.
    package var user: String?
    /// The version of the reply parser in this program.
    package var hiredisVersion = ""

    package init() {}
}

package struct QueueAudit: Sendable {
    package struct Worker: Sendable, Equatable {
        package var id: String
        package var leaseUntil: Int64
        package var held: Int

        package init(id: String, leaseUntil: Int64, held: Int) {
            self.id = id
            self.leaseUntil = leaseUntil
            self.held = held
        }
    }

    package var queue: String
    /// Milliseconds of server time.
    package var time: Int64
    /// The number of workers with a lease, also a lapsed one; `workers` has the first 1,000.
    package var workerCount: Int
    package var meta: [String: String] = [:]
    package var totals: [String: Int64] = [:]
    /// The number of entries in each place.
    package var sizes: [AuditPlace: Int] = [:]
    /// The numbers of the sets of unhandled operations.
    package var unhandled: [String] = []
    /// The places of limit keys: operations that wait in no lane, and operations that run.
    package var keyPlaces: [AuditPlace] = []
    package var batches = 0
    package var intents = 0
    package var awaited = 0
    package var workers: [Worker] = []
    package var findings: [AuditFinding] = []

    package init(queue: String, time: Int64, workerCount: Int) {
        self.queue = queue
        self.time = time
        self.workerCount = workerCount
    }
}

package struct PlaceAudit: Sendable {
    /// Where the next call continues; nil = the place has been read to its end.
    package var cursor: String?
    package var looked: Int
    /// The number of stale references.
    package var stale: Int
    package var findings: [AuditFinding]
    /// The ids with a current reference; for lanes only.
    package var live: [String]

    package init(cursor: String?, looked: Int, stale: Int, findings: [AuditFinding], live: [String]) {
        self.cursor = cursor
        self.looked = looked
        self.stale = stale
        self.findings = findings
        self.live = live
    }
}

package struct RecordsAudit: Sendable {
    package var findings: [AuditFinding]
    /// Records whose reference must be in a lane, with their heads.
    package var ready: [String: [UInt8]]

    package init(findings: [AuditFinding], ready: [String: [UInt8]]) {
        self.findings = findings
        self.ready = ready
    }
}

package struct KeyAudit: Sendable {
    package struct Key: Sendable, Equatable {
        package enum Kind: Sendable, Equatable {
            /// A record, or a key that belongs to one.
            case operation(id: String)
            case inFlight(worker: String)
            case cancelRequests(worker: String)
            case batch(number: String)
            /// A key that every queue may have.
            case queue
            case unknown
        }

        package var queue: String
        package var kind: Kind
        package var name: String

        package init(queue: String, kind: Kind, name: String) {
            self.queue = queue
            self.kind = kind
            self.name = name
        }
    }

    /// Where the next call continues; nil = the namespace has been read to its end.
    package var cursor: String?
    package var keys: [Key]

    package init(cursor: String?, keys: [Key]) {
        self.cursor = cursor
        self.keys = keys
    }
}
