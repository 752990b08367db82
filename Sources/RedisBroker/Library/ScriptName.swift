/// The scripts: a case and a row each. Their access rules, the list in `docs/scripts.md` and the output of `sluice redis script` are read from
/// here and from the files, which name their includes, keys and commands.
enum ScriptName: String, CaseIterable {
    case enqueue
    case claim
    case complete
    case fail
    case giveBack = "give_back"
    case report
    case beat
    case reconcile
    case sweep
    case abandon
    case retire
    case cancel
    case cancelHeld = "cancel_held"
    case cancelQueue = "cancel_queue"
    case retry
    case remove
    case pause
    case awaitEnd = "await_end"
    case details
    case page
    case snapshot
    case lost
    case log
    case auditQueue = "audit_queue"
    case auditPlace = "audit_place"
    case auditRecords = "audit_records"

    struct Entry: Sendable {
        let file: @Sendable () -> [UInt8]
        /// What users of Redis call it.
        let roles: Set<RedisRole>

        init(_ file: @escaping @Sendable () -> [UInt8], _ roles: RedisRole...) {
            self.file = file
            self.roles = Set(roles)
        }
    }

    var entry: Entry {
        switch self {
        case .enqueue: Entry({ PackageResources.enqueue_lua }, .producer)
        case .claim: Entry({ PackageResources.claim_lua }, .worker)
        case .complete: Entry({ PackageResources.complete_lua }, .worker)
        case .fail: Entry({ PackageResources.fail_lua }, .worker)
        case .giveBack: Entry({ PackageResources.give_back_lua }, .worker)
        case .report: Entry({ PackageResources.report_lua }, .worker)
        case .beat: Entry({ PackageResources.beat_lua }, .worker)
        case .reconcile: Entry({ PackageResources.reconcile_lua }, .worker)
        case .sweep: Entry({ PackageResources.sweep_lua }, .worker, .operator)
        case .abandon: Entry({ PackageResources.abandon_lua }, .worker)
        case .retire: Entry({ PackageResources.retire_lua }, .worker)
        case .cancel: Entry({ PackageResources.cancel_lua }, .producer, .operator)
        case .cancelHeld: Entry({ PackageResources.cancel_held_lua }, .producer, .operator)
        case .cancelQueue: Entry({ PackageResources.cancel_queue_lua }, .operator)
        case .retry: Entry({ PackageResources.retry_lua }, .producer, .operator)
        case .remove: Entry({ PackageResources.remove_lua }, .operator)
        case .pause: Entry({ PackageResources.pause_lua }, .operator)
        case .awaitEnd: Entry({ PackageResources.await_end_lua }, .producer, .operator)
        case .details: Entry({ PackageResources.details_lua }, .producer, .worker, .monitor, .operator)
        case .page: Entry({ PackageResources.page_lua }, .producer, .monitor, .operator)
        case .snapshot: Entry({ PackageResources.snapshot_lua }, .producer, .worker, .monitor, .operator)
        case .lost: Entry({ PackageResources.lost_lua }, .producer, .monitor, .operator)
        case .log: Entry({ PackageResources.log_lua }, .producer, .monitor, .operator)
        case .auditQueue: Entry({ PackageResources.audit_queue_lua }, .operator)
        case .auditPlace: Entry({ PackageResources.audit_place_lua }, .operator)
        case .auditRecords: Entry({ PackageResources.audit_records_lua }, .operator)
        }
    }
}
