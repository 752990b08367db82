import Foundation
import RedisClient

/// The scripts, assembled from the embedded `.lua` files: a line `-- include: name` is replaced by `includes/name.lua`.
struct ScriptLibrary: Sendable {
    let enqueue, claim, complete, fail, giveBack, report, beat, reconcile, sweep, abandon, retire: RedisScript
    let cancel, cancelHeld, cancelQueue, retry, remove, pause, awaitEnd, details, page, snapshot, lost, log: RedisScript
    let auditQueue, auditPlace, auditRecords: RedisScript

    /// - Parameters:
    ///   - testClock: time is read from the key `{namespace/queue}:clock` instead of the server's clock.
    ///   - edit: changes the assembled sources, for negative controls.
    init(testClock: Bool = false, edit: ((String) -> String)? = nil) {
        let assembler = ScriptAssembler(testClock: testClock, edit: edit)
        enqueue = assembler.script("enqueue", PackageResources.enqueue_lua)
        claim = assembler.script("claim", PackageResources.claim_lua)
        complete = assembler.script("complete", PackageResources.complete_lua)
        fail = assembler.script("fail", PackageResources.fail_lua)
        giveBack = assembler.script("give_back", PackageResources.give_back_lua)
        report = assembler.script("report", PackageResources.report_lua)
        beat = assembler.script("beat", PackageResources.beat_lua)
        reconcile = assembler.script("reconcile", PackageResources.reconcile_lua)
        sweep = assembler.script("sweep", PackageResources.sweep_lua)
        abandon = assembler.script("abandon", PackageResources.abandon_lua)
        retire = assembler.script("retire", PackageResources.retire_lua)
        cancel = assembler.script("cancel", PackageResources.cancel_lua)
        cancelHeld = assembler.script("cancel_held", PackageResources.cancel_held_lua)
        cancelQueue = assembler.script("cancel_queue", PackageResources.cancel_queue_lua)
        retry = assembler.script("retry", PackageResources.retry_lua)
        remove = assembler.script("remove", PackageResources.remove_lua)
        pause = assembler.script("pause", PackageResources.pause_lua)
        awaitEnd = assembler.script("await_end", PackageResources.await_end_lua)
        details = assembler.script("details", PackageResources.details_lua)
        page = assembler.script("page", PackageResources.page_lua)
        snapshot = assembler.script("snapshot", PackageResources.snapshot_lua)
        lost = assembler.script("lost", PackageResources.lost_lua)
        log = assembler.script("log", PackageResources.log_lua)
        auditQueue = assembler.script("audit_queue", PackageResources.audit_queue_lua)
        auditPlace = assembler.script("audit_place", PackageResources.audit_place_lua)
        auditRecords = assembler.script("audit_records", PackageResources.audit_records_lua)
    }

    var all: [RedisScript] {
        [
            enqueue, claim, complete, fail, giveBack, report, beat, reconcile, sweep, abandon, retire, cancel,
            cancelHeld, cancelQueue, retry, remove,
            pause, awaitEnd, details, page, snapshot, lost, log, auditQueue, auditPlace, auditRecords,
        ]
    }
}

private struct ScriptAssembler {
    let includes: [String: [UInt8]]
    let edit: ((String) -> String)?

    init(testClock: Bool, edit: ((String) -> String)?) {
        self.edit = edit
        includes = [
            "base": PackageResources.base_lua, "start": PackageResources.start_lua, "rest": PackageResources.rest_lua,
            "clock": testClock ? PackageResources.test_clock_lua : PackageResources.clock_lua,
            "limits": PackageResources.limits_lua, "events": PackageResources.events_lua,
            "doorbell": PackageResources.doorbell_lua, "records": PackageResources.records_lua,
            "ending": PackageResources.ending_lua, "promote": PackageResources.promote_lua,
            "retention": PackageResources.retention_lua,
            "groups": PackageResources.groups_lua, "calls": PackageResources.calls_lua,
            "store": PackageResources.store_lua, "enqueue_single": PackageResources.enqueue_single_lua,
            "claim_single": PackageResources.claim_single_lua,
            "numbers": PackageResources.numbers_lua, "admit": PackageResources.admit_lua,
            "lanes": PackageResources.lanes_lua, "take": PackageResources.take_lua, "held": PackageResources.held_lua,
            "graves": PackageResources.graves_lua, "recover": PackageResources.recover_lua,
            "losses": PackageResources.losses_lua, "waiters": PackageResources.waiters_lua,
            "detail": PackageResources.detail_lua, "flush": PackageResources.flush_lua,
            "order": PackageResources.order_lua, "fences": PackageResources.fences_lua,
            "audit": PackageResources.audit_lua,
        ]
    }

    func script(_ name: String, _ source: [UInt8]) -> RedisScript {
        let source = nest(ScriptPruner.prune(expand(source)))
        return RedisScript(name: name, source: edit?(source) ?? source)
    }

    /// Puts everything behind the base (whose last part is `rest`, where a short way stands before it) and the limits into a function. A
    /// function that refers to a local of the chunk it stands in makes Lua search all such locals one by one, each time it is made; one
    /// that refers to locals further out does not.
    private func nest(_ source: String) -> String {
        let end = "-- end of the base\n"
        guard let base = source.range(of: end, options: .backwards) else { return source }
        return source[..<base.upperBound] + "return (function()\n" + source[base.upperBound...] + "\nend)()\n"
    }

    private func expand(_ source: [UInt8]) -> String {
        let marker = "-- include: "
        return String(decoding: source, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
            .map { line in
                guard line.hasPrefix(marker) else { return String(line) }
                let name = String(line.dropFirst(marker.count))
                guard let included = includes[name] else {
                    preconditionFailure("a script includes \"\(name)\", which is unknown")
                }
                return expand(included)
            }
            .joined(separator: "\n")
    }
}

extension RedisBroker {
    /// The names of all scripts, as their files are called.
    package static var scriptNames: [String] { ScriptLibrary().all.map(\.name) }

    /// What is sent to Redis under a script's name, with all includes; nil if there is none.
    package static func scriptSource(named name: String) -> String? {
        ScriptLibrary().all.first { $0.name == name }?.source
    }
}
