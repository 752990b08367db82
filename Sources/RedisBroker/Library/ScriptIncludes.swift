/// The files that scripts include, one per line, by the folders of `Scripts/includes`.
enum ScriptIncludes {
    static func file(_ name: String, testClock: Bool) -> [UInt8] {
        switch name {
        // base
        case "base": PackageResources.base_lua
        case "change_heads": PackageResources.change_heads_lua
        case "clock": testClock ? PackageResources.test_clock_lua : PackageResources.clock_lua
        case "events": PackageResources.events_lua
        case "flush": PackageResources.flush_lua
        case "limits": PackageResources.limits_lua
        case "rest": PackageResources.rest_lua
        case "start": PackageResources.start_lua
        case "wake": PackageResources.wake_lua
        // record
        case "batch_of": PackageResources.batch_of_lua
        case "changed_header": PackageResources.changed_header_lua
        case "create_record": PackageResources.create_record_lua
        case "extras": PackageResources.extras_lua
        case "front": PackageResources.front_lua
        case "header": PackageResources.header_lua
        case "keep_error": PackageResources.keep_error_lua
        case "keys": PackageResources.keys_lua
        case "linked_header": PackageResources.linked_header_lua
        case "record": PackageResources.record_lua
        case "replace_envelope": PackageResources.replace_envelope_lua
        case "size": PackageResources.size_lua
        case "write_record": PackageResources.write_record_lua
        // lifecycle
        case "cancel_batch": PackageResources.cancel_batch_lua
        case "cancel_waiting": PackageResources.cancel_waiting_lua
        case "change_needs": PackageResources.change_needs_lua
        case "clear_batch": PackageResources.clear_batch_lua
        case "clear_outbox": PackageResources.clear_outbox_lua
        case "end_operation": PackageResources.end_operation_lua
        case "enter_linked": PackageResources.enter_linked_lua
        case "enter_inflight": PackageResources.enter_inflight_lua
        case "enter_new": PackageResources.enter_new_lua
        case "enter_queue": PackageResources.enter_queue_lua
        case "erase": PackageResources.erase_lua
        case "expire": PackageResources.expire_lua
        case "finish": PackageResources.finish_lua
        case "finish_cancelled": PackageResources.finish_cancelled_lua
        case "finish_well": PackageResources.finish_well_lua
        case "go_on": PackageResources.go_on_lua
        case "group_rules": PackageResources.group_rules_lua
        case "leave_blocked": PackageResources.leave_blocked_lua
        case "leave_inflight": PackageResources.leave_inflight_lua
        case "leave_inflight_batch": PackageResources.leave_inflight_batch_lua
        case "leave_waiting": PackageResources.leave_waiting_lua
        case "limit_keys": PackageResources.limit_keys_lua
        case "rate": PackageResources.rate_lua
        case "readmit": PackageResources.readmit_lua
        case "retention": PackageResources.retention_lua
        case "room": PackageResources.room_lua
        case "set_aside": PackageResources.set_aside_lua
        case "set_linked": PackageResources.set_linked_lua
        case "unhandled": PackageResources.unhandled_lua
        case "waiters": PackageResources.waiters_lua
        // enqueue
        case "calls": PackageResources.calls_lua
        case "enqueue_single": PackageResources.enqueue_single_lua
        case "groups": PackageResources.groups_lua
        case "links": PackageResources.links_lua
        // claim
        case "admit": PackageResources.admit_lua
        case "claim_single": PackageResources.claim_single_lua
        case "lanes": PackageResources.lanes_lua
        case "promote": PackageResources.promote_lua
        case "take": PackageResources.take_lua
        // links
        case "add_needs": PackageResources.add_needs_lua
        case "behind": PackageResources.behind_lua
        case "claim_key": PackageResources.claim_key_lua
        case "end_links": PackageResources.end_links_lua
        case "members": PackageResources.members_lua
        case "stopping": PackageResources.stopping_lua
        case "later": PackageResources.later_lua
        case "keep_input": PackageResources.keep_input_lua
        case "needs": PackageResources.needs_lua
        case "outboxes": PackageResources.outboxes_lua
        case "pass_keys": PackageResources.pass_keys_lua
        case "remote": PackageResources.remote_lua
        // cancel
        case "cancel_one": PackageResources.cancel_one_lua
        case "cancel_request": PackageResources.cancel_request_lua
        case "standing": PackageResources.standing_lua
        case "standing_list": PackageResources.standing_list_lua
        case "standing_change": PackageResources.standing_change_lua
        case "force_cancel": PackageResources.force_cancel_lua
        // schedules
        case "audit_schedules": PackageResources.audit_schedules_lua
        case "schedule_entry": PackageResources.schedule_entry_lua
        case "schedule_watch": PackageResources.schedule_watch_lua
        // recover
        case "fences": PackageResources.fences_lua
        case "losses": PackageResources.losses_lua
        case "numbers": PackageResources.numbers_lua
        case "recover": PackageResources.recover_lua
        case "recoveries": PackageResources.recoveries_lua
        // statistics
        case "keep_build": PackageResources.keep_build_lua
        case "take_statistics": PackageResources.take_statistics_lua
        // read
        case "audit": PackageResources.audit_lua
        case "batches": PackageResources.batches_lua
        case "detail": PackageResources.detail_lua
        case "limit_key_names": PackageResources.limit_key_names_lua
        case "rows": PackageResources.rows_lua
        default: preconditionFailure("a script includes \"\(name)\", which is unknown")
        }
    }
}
