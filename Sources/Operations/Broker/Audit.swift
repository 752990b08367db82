/// Reading a queue server to find what is wrong with it. Every call is bounded.
///
/// A part is looked at in one step, so what a call finds was wrong at that instant, whatever else was going on. With codes to fix, a finding
/// with such a code is fixed in the same step; otherwise nothing changes.
package protocol BrokerAudit: Sendable {
    /// What each server that has keys says about itself, and what this connection may do.
    func auditServers() async throws -> [ServerAudit]

    /// Counters, leases and sizes of a queue.
    func auditQueue(_ queue: String, fixing codes: Set<String>) async throws -> QueueAudit

    /// Part of a place: whatever lies there has a record that says so.
    ///
    /// - Parameters:
    ///   - cursor: nil = the beginning.
    ///   - limit: about so many entries, at most `Defaults.batch`.
    func auditPlace(_ place: AuditPlace, cursor: String?, limit: Int, queue: String, fixing codes: Set<String>)
        async throws
        -> PlaceAudit

    /// Operations by id, at most `Defaults.batch`: every record lies where it says. Ids are text, since they come from keys.
    func auditRecords(_ ids: [String], queue: String, fixing codes: Set<String>) async throws -> RecordsAudit

    /// Keys of the namespace, some at a time and in no order. What exists from the first call to the last is among them.
    ///
    /// - Parameter cursor: nil = the beginning.
    func auditKeys(cursor: String?, limit: Int) async throws -> KeyAudit

    /// Whether this user may hear messages of a queue.
    ///
    /// - Returns: the server's refusal, or nil.
    func auditListening(queue: String) async throws -> String?

    /// Puts a ready operation that no lane refers to into its lane, if its record is still as it was read.
    ///
    /// - Returns: whether that was so.
    func returnLost(_ id: OperationID, head: [UInt8], queue: String) async throws -> Bool

    /// Corrects the count of references left behind, if the queue is still as it was counted.
    ///
    /// - Returns: whether that was so.
    func setStale(_ count: Int, of queue: QueueAudit) async throws -> Bool

    /// Adds a queue to those of the namespace.
    func register(queue: String) async throws
}

/// Something that is wrong, as a script found it.
package struct AuditFinding: Sendable, Equatable {
    /// What kind of thing: `counter`, `twice`, `lost`, `noLease` …
    package var code: String
    package var queue: String
    /// The operation, worker or field that it is about.
    package var subject: String
    package var detail: String
    /// In words, the effect of its fix; empty if it has none.
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
    /// 0 (very low) to 4.
    case lane(Int)
    /// Unhandled operations of one name, by the number of their set.
    case unhandled(String)
    /// What waits in no lane because of a limit key: the number of cancels of the whole queue, and the key.
    case keyed(String)
    /// References in lanes of operations with a limit key: the number and the key, as for `keyed`.
    case next(String)
    /// What a limit key counts as running.
    case running(key: String)
    case scheduled, retrying, blocked, expiring
    case ended(OperationState)
    /// What a worker holds.
    case inFlight(worker: String)
    /// Cancels that a worker was told of.
    case orders(worker: String)
    /// What is left of a cancelled queue.
    case batch(String)
    /// Unique keys and who has them.
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
        case .orders(let worker): "cancelling:\(worker)"
        case .batch(let number): "batch:\(number)"
        case .unique: "unique"
        }
    }
}

package struct ServerAudit: Sendable {
    /// Host and port, where there are several servers.
    package var name: String?
    /// The fields of INFO.
    package var info: [String: String] = [:]
    /// What CONFIG GET tells; empty where it is forbidden.
    package var configuration: [String: String] = [:]
    /// Milliseconds that the server's clock is ahead of this machine's.
    package var clockAhead: Int64 = 0
    /// How exactly that is known.
    package var roundTripMilliseconds: Int64 = 0
    /// The user that this connection is; nil if it may not ask.
    package var user: String?
    /// Of the reply parser that this program was built with.
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
    /// With a lease, lapsed ones too; `workers` has the first 1,000.
    package var workerCount: Int
    package var meta: [String: String] = [:]
    package var totals: [String: Int64] = [:]
    /// Entries in each place.
    package var sizes: [AuditPlace: Int] = [:]
    /// Numbers of the sets of unhandled operations.
    package var unhandled: [String] = []
    /// Of limit keys: what waits in no lane, and what runs.
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
    /// nil = that was the end.
    package var cursor: String?
    package var looked: Int
    /// References that were left behind.
    package var stale: Int
    package var findings: [AuditFinding]
    /// Of lanes: ids whose reference counts.
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
    /// Records whose reference has to be in a lane, with their heads.
    package var ready: [String: [UInt8]]

    package init(findings: [AuditFinding], ready: [String: [UInt8]]) {
        self.findings = findings
        self.ready = ready
    }
}

package struct KeyAudit: Sendable {
    package struct Key: Sendable, Equatable {
        package enum Kind: Sendable, Equatable {
            /// A record, or what is kept beside one.
            case operation(id: String)
            case inFlight(worker: String)
            case orders(worker: String)
            case batch(number: String)
            /// One of those that every queue may have.
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

    /// nil = that was the end.
    package var cursor: String?
    package var keys: [Key]

    package init(cursor: String?, keys: [Key]) {
        self.cursor = cursor
        self.keys = keys
    }
}
