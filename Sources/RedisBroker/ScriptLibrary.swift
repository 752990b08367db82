import Foundation
import RedisClient

/// The scripts, each assembled from the embedded `.lua` files when it is first called: a line `-- include: name` is replaced by
/// `includes/name.lua`.
struct ScriptLibrary: Sendable {
    let enqueue, claim, complete, fail, giveBack, report, beat, reconcile, sweep, abandon, retire: RedisScript
    let cancel, cancelHeld, cancelQueue, retry, remove, pause, awaitEnd, details, page, snapshot, lost, log: RedisScript
    let auditQueue, auditPlace, auditRecords: RedisScript

    /// - Parameters:
    ///   - testClock: time is read from the key `{namespace/queue}:clock` instead of the server's clock.
    ///   - edit: changes the assembled sources, for negative controls.
    init(testClock: Bool = false, edit: (@Sendable (String) -> String)? = nil) {
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

struct ScriptAssembler: Sendable {
    let testClock: Bool
    let edit: (@Sendable (String) -> String)?

    func script(_ name: String, _ file: @autoclosure @escaping @Sendable () -> [UInt8]) -> RedisScript {
        RedisScript(name: name) {
            let source = nest(ScriptPruner.prune(expand(file()[...])))
            return edit?(source) ?? source
        }
    }

    /// The lines of a file, with those of its includes.
    private func expand(_ file: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        file.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).flatMap { line in
            guard line.starts(with: Self.marker) else { return [line] }
            return expand(included(String(decoding: line.dropFirst(Self.marker.count), as: UTF8.self))[...])
        }
    }

    /// Puts everything behind the base (whose last part is `rest`, where a short way stands before it) and the limits into a function. A
    /// function that refers to a local of the chunk it stands in makes Lua search all such locals one by one, each time it is made; one
    /// that refers to locals further out does not.
    private func nest(_ lines: [ArraySlice<UInt8>]) -> String {
        guard let end = lines.lastIndex(where: { $0.elementsEqual(Self.endOfBase) }) else {
            return Self.text(lines[...])
        }
        return Self.text(lines[...end]) + "return (function()\n" + Self.text(lines[(end + 1)...]) + "end)()\n"
    }

    private static func text(_ lines: ArraySlice<ArraySlice<UInt8>>) -> String {
        var bytes: [UInt8] = []
        for line in lines {
            bytes += line
            bytes.append(UInt8(ascii: "\n"))
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let marker = Array("-- include: ".utf8)
    static let endOfBase = Array("-- end of the base".utf8)

    private func included(_ name: String) -> [UInt8] {
        switch name {
        case "base": PackageResources.base_lua
        case "start": PackageResources.start_lua
        case "rest": PackageResources.rest_lua
        case "clock": testClock ? PackageResources.test_clock_lua : PackageResources.clock_lua
        case "limits": PackageResources.limits_lua
        case "events": PackageResources.events_lua
        case "doorbell": PackageResources.doorbell_lua
        case "records": PackageResources.records_lua
        case "ending": PackageResources.ending_lua
        case "promote": PackageResources.promote_lua
        case "retention": PackageResources.retention_lua
        case "groups": PackageResources.groups_lua
        case "calls": PackageResources.calls_lua
        case "store": PackageResources.store_lua
        case "enqueue_single": PackageResources.enqueue_single_lua
        case "claim_single": PackageResources.claim_single_lua
        case "numbers": PackageResources.numbers_lua
        case "admit": PackageResources.admit_lua
        case "lanes": PackageResources.lanes_lua
        case "take": PackageResources.take_lua
        case "unhandled": PackageResources.unhandled_lua
        case "readmit": PackageResources.readmit_lua
        case "set_aside": PackageResources.set_aside_lua
        case "held": PackageResources.held_lua
        case "batches": PackageResources.batches_lua
        case "graves": PackageResources.graves_lua
        case "recover": PackageResources.recover_lua
        case "losses": PackageResources.losses_lua
        case "waiters": PackageResources.waiters_lua
        case "detail": PackageResources.detail_lua
        case "flush": PackageResources.flush_lua
        case "order": PackageResources.order_lua
        case "fences": PackageResources.fences_lua
        case "audit": PackageResources.audit_lua
        default: preconditionFailure("a script includes \"\(name)\", which is unknown")
        }
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
