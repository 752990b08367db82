/// The scripts, with a case and a row each. The access rules, `docs/scripts.md` and `sluice redis script` follow from
/// this list and from the files, which name their includes, keys and commands.
enum ScriptName: Int, CaseIterable, CustomStringConvertible {
    case enqueue
    case enqueueLinked
    case claim
    case complete
    case fail
    case giveBack
    case report
    case remember
    case inputs
    case depend
    case link
    case relay
    case relayed
    case resolve
    case ask
    case beat
    case reconcile
    case sweep
    case recoverWorker
    case retire
    case cancel
    case cancelHeld
    case cancelQueue
    case setSchedule
    case removeSchedule
    case fireSchedule
    case schedules
    case standingSet
    case standingRemove
    case standingRead
    case retry
    case remove
    case edit
    case purge
    case hold
    case release
    case pause
    case setLimits
    case controlWorker
    case noteEvent
    case addChange
    case nextChange
    case takeChange
    case saveChange
    case stopChange
    case removeChange
    case changes
    case awaitEnd
    case details
    case page
    case snapshot
    case limitKey
    case keyHolders
    case lost
    case statistics
    case builds
    case backlog
    case edges
    case log
    case storedEvents
    case auditQueue
    case auditPlace
    case auditRecords
    case returnLost
    case setStale

    /// The name of the script's file.
    var description: String { entry.name }

    struct Entry: Sendable {
        let name: String
        let file: @Sendable () -> [UInt8]
        /// The roles whose users call the script.
        let roles: Set<RedisRole>

        init(_ name: String, _ file: @escaping @Sendable () -> [UInt8], _ roles: RedisRole...) {
            self.name = name
            self.file = file
            self.roles = Set(roles)
        }
    }

    var entry: Entry {
        switch self {
        case .enqueue: Entry("enqueue", { PackageResources.enqueue_lua }, .producer, .worker, .operator)
        case .enqueueLinked:
            Entry("enqueue_linked", { PackageResources.enqueue_linked_lua }, .producer, .worker, .operator)
        case .claim: Entry("claim", { PackageResources.claim_lua }, .worker)
        case .complete: Entry("complete", { PackageResources.complete_lua }, .worker)
        case .fail: Entry("fail", { PackageResources.fail_lua }, .worker)
        case .giveBack: Entry("give_back", { PackageResources.give_back_lua }, .worker)
        case .report: Entry("report", { PackageResources.report_lua }, .worker)
        case .remember: Entry("remember", { PackageResources.remember_lua }, .worker)
        case .inputs: Entry("inputs", { PackageResources.inputs_lua }, .worker)
        case .depend: Entry("depend", { PackageResources.depend_lua }, .producer, .operator)
        case .link: Entry("link", { PackageResources.link_lua }, .producer, .worker, .operator)
        case .relay: Entry("relay", { PackageResources.relay_lua }, .worker)
        case .relayed: Entry("relayed", { PackageResources.relayed_lua }, .worker)
        case .resolve: Entry("resolve", { PackageResources.resolve_lua }, .producer, .worker, .operator)
        case .ask: Entry("ask", { PackageResources.ask_lua }, .worker)
        case .beat: Entry("beat", { PackageResources.beat_lua }, .worker)
        case .reconcile: Entry("reconcile", { PackageResources.reconcile_lua }, .worker)
        case .sweep: Entry("sweep", { PackageResources.sweep_lua }, .worker, .operator)
        case .recoverWorker: Entry("recover_worker", { PackageResources.recover_worker_lua }, .worker)
        case .retire: Entry("retire", { PackageResources.retire_lua }, .worker)
        case .cancel: Entry("cancel", { PackageResources.cancel_lua }, .producer, .worker, .operator)
        case .cancelHeld: Entry("cancel_held", { PackageResources.cancel_held_lua }, .producer, .worker, .operator)
        case .cancelQueue: Entry("cancel_queue", { PackageResources.cancel_queue_lua }, .operator)
        case .setSchedule: Entry("set_schedule", { PackageResources.set_schedule_lua }, .producer, .operator)
        case .removeSchedule: Entry("remove_schedule", { PackageResources.remove_schedule_lua }, .producer, .operator)
        case .fireSchedule: Entry("fire_schedule", { PackageResources.fire_schedule_lua }, .worker)
        case .schedules: Entry("schedules", { PackageResources.schedules_lua }, .producer, .worker, .monitor, .operator)
        case .standingSet: Entry("standing_set", { PackageResources.standing_set_lua }, .operator)
        case .standingRemove: Entry("standing_remove", { PackageResources.standing_remove_lua }, .operator)
        case .standingRead:
            Entry("standing_read", { PackageResources.standing_read_lua }, .producer, .worker, .monitor, .operator)
        case .retry: Entry("retry", { PackageResources.retry_lua }, .producer, .operator)
        case .remove: Entry("remove", { PackageResources.remove_lua }, .operator)
        case .edit: Entry("edit", { PackageResources.edit_lua }, .operator)
        case .purge: Entry("purge", { PackageResources.purge_lua }, .operator)
        case .hold: Entry("hold", { PackageResources.hold_lua }, .operator)
        case .release: Entry("release", { PackageResources.release_lua }, .operator)
        case .pause: Entry("pause", { PackageResources.pause_lua }, .operator)
        case .setLimits: Entry("set_limits", { PackageResources.set_limits_lua }, .operator)
        case .controlWorker: Entry("control_worker", { PackageResources.control_worker_lua }, .operator)
        case .noteEvent: Entry("note_event", { PackageResources.note_event_lua }, .producer, .operator)
        case .addChange: Entry("add_change", { PackageResources.add_change_lua }, .operator)
        case .nextChange: Entry("next_change", { PackageResources.next_change_lua }, .operator)
        case .takeChange: Entry("take_change", { PackageResources.take_change_lua }, .operator)
        case .saveChange: Entry("save_change", { PackageResources.save_change_lua }, .operator)
        case .stopChange: Entry("stop_change", { PackageResources.stop_change_lua }, .operator)
        case .removeChange: Entry("remove_change", { PackageResources.remove_change_lua }, .operator)
        case .changes: Entry("changes", { PackageResources.changes_lua }, .monitor, .operator)
        case .awaitEnd: Entry("await_end", { PackageResources.await_end_lua }, .producer, .worker, .operator)
        case .details: Entry("details", { PackageResources.details_lua }, .producer, .worker, .monitor, .operator)
        case .page: Entry("page", { PackageResources.page_lua }, .producer, .monitor, .operator)
        case .snapshot: Entry("snapshot", { PackageResources.snapshot_lua }, .producer, .worker, .monitor, .operator)
        case .limitKey:
            Entry("limit_key", { PackageResources.limit_key_lua }, .producer, .worker, .monitor, .operator)
        case .keyHolders: Entry("key_holders", { PackageResources.key_holders_lua }, .monitor, .operator)
        case .lost: Entry("lost", { PackageResources.lost_lua }, .producer, .monitor, .operator)
        case .statistics: Entry("statistics", { PackageResources.statistics_lua }, .monitor, .operator)
        case .builds: Entry("builds", { PackageResources.builds_lua }, .monitor, .operator)
        case .backlog: Entry("backlog", { PackageResources.backlog_lua }, .monitor, .operator)
        case .edges: Entry("edges", { PackageResources.edges_lua }, .producer, .worker, .monitor, .operator)
        case .log: Entry("log", { PackageResources.log_lua }, .producer, .monitor, .operator)
        case .storedEvents: Entry("stored_events", { PackageResources.stored_events_lua }, .monitor, .operator)
        case .auditQueue: Entry("audit_queue", { PackageResources.audit_queue_lua }, .operator)
        case .auditPlace: Entry("audit_place", { PackageResources.audit_place_lua }, .operator)
        case .auditRecords: Entry("audit_records", { PackageResources.audit_records_lua }, .operator)
        case .returnLost: Entry("return_lost", { PackageResources.return_lost_lua }, .operator)
        case .setStale: Entry("set_stale", { PackageResources.set_stale_lua }, .operator)
        }
    }
}
