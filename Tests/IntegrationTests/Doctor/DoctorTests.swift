import Foundation
import Operations
import RedisBroker
import RedisClient
import TestSupport
import Testing

/// A kind of damage: how to cause it, and the finding that `doctor` reports for it.
private struct Damage: Sendable {
    let name: String
    let code: String
    let severity: String
    let subject: @Sendable (Ward) -> String
    let plant: @Sendable (Ward) throws -> Void

    typealias Subject = @Sendable (Ward) -> String
    typealias Plant = @Sendable (Ward) throws -> Void

    private static func error(_ name: String, _ code: String, _ subject: @escaping Subject, _ plant: @escaping Plant)
        -> Damage
    {
        Damage(name: name, code: code, severity: "error", subject: subject, plant: plant)
    }

    private static func warning(_ name: String, _ code: String, _ subject: @escaping Subject, _ plant: @escaping Plant)
        -> Damage
    {
        Damage(name: name, code: code, severity: "warning", subject: subject, plant: plant)
    }

    private static func note(_ name: String, _ code: String, _ subject: @escaping Subject, _ plant: @escaping Plant)
        -> Damage
    {
        Damage(name: name, code: code, severity: "note", subject: subject, plant: plant)
    }

    static let all: [Damage] = [
        .error("reference-gone", "lost", { "\($0.ready[1])" }) {
            try $0.damage("LREM", "lane:2", 1, $0.reference($0.ready[1]))
        },
        .error("scheduled-gone", "lost", { "\($0.scheduled)" }) { try $0.damage("ZREM", "scheduled", $0.scheduled) },
        .error("ended-gone", "lost", { "\($0.finished)" }) { try $0.damage("ZREM", "ended:f", $0.finished) },
        .error("entry-gone", "lost", { "\($0.executing)" }) {
            try $0.damage("HDEL", "inflight:\($0.worker)", $0.executingFence)
        },
        .error("reference-twice", "twice", { "\($0.ready[0])" }) {
            try $0.damage("RPUSH", "lane:2", $0.reference($0.ready[0]))
        },
        .error("ready-and-scheduled", "twice", { "\($0.ready[0])" }) {
            try $0.damage("ZADD", "scheduled", 4_000_000_000_000, $0.ready[0])
        },
        .error("ready-and-held", "twice", { "\($0.ready[0])" }) {
            try $0.damage("HSET", "inflight:\($0.worker)", 3, $0.reference($0.ready[0]) + " ")
        },
        .error("finished-and-dead", "twice", { "\($0.finished)" }) { try $0.damage("ZADD", "ended:d", 1, $0.finished) },
        .error("record-gone", "noRecord", { "\($0.scheduled)" }) { try $0.damage("DEL", "\($0.scheduled)") },
        .error("held-record-gone", "noRecord", { "\($0.executing)" }) { try $0.damage("DEL", "\($0.executing)") },
        .error("lease-gone", "noLease", { "\($0.worker)" }) { try $0.damage("ZREM", "leases", $0.worker) },
        .error("number-gone", "owner", { "\($0.executing)" }) { try $0.damage("DEL", "numbers") },
        .error("counter", "counter", { _ in "executing" }) { try $0.damage("HINCRBY", "totals", "executing", 5) },
        .error("stale-counter", "counter", { _ in "stale" }) { try $0.damage("HINCRBY", "totals", "stale", 2) },
        .error("total", "sum", { _ in "totals" }) { try $0.damage("HINCRBY", "totals", "notEnqueued", 1) },
        .error("fence-back", "counterBack", { _ in "fence" }) { try $0.damage("HSET", "meta", "fence", 1) },
        .error("sequence-back", "counterBack", { _ in "sequence" }) { try $0.damage("HSET", "meta", "sequence", 1) },
        .error("garbage", "malformed", { _ in "lane:3" }) { try $0.damage("RPUSH", "lane:3", "garbage\u{1B}[31m") },
        .error("short-record", "malformed", { _ in "7ZZZZZZZZZZZZZZZZZZZZZZZZZ" }) {
            try $0.damage("SET", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "short")
        },
        .warning("extras-left", "leftover", { _ in "7ZZZZZZZZZZZZZZZZZZZZZZZZY" }) {
            try $0.damage("HSET", "x:7ZZZZZZZZZZZZZZZZZZZZZZZZY", "result", "1")
        },
        .warning("order-left", "leftover", { _ in "999" }) {
            try $0.damage("HSET", "cancelling:\($0.worker)", 999, "1 me")
        },
        .warning("expiry-left", "leftover", { "\($0.finished)" }) {
            try $0.damage("ZADD", "expiring", 4_000_000_000_000, $0.finished)
        },
        .warning("batch-left", "leftover", { _ in "batch:99" }) {
            try $0.damage("RPUSH", "batch:99:lane:2", "x")
        },
        .error("dependents-gone", "lost", { "\($0.blocked)" }) { try $0.damage("DEL", "dependents:\($0.needed)") },
        .error("unmet-counter", "counter", { "\($0.blocked)" }) {
            try $0.damage("HSET", "x:\($0.blocked)", "unmet", 5)
        },
        .error("start-gone", "lost", { _ in Ward.key }) { try $0.damage("ZREM", "expiring", "*" + Ward.key) },
        .error("instant-gone", "noInstant", { _ in "nightly" }) { try $0.plantSchedule() },
        .error("instant-passed", "overdue", { _ in "nightly" }) {
            try $0.plantSchedule()
            try $0.damage("ZADD", "schedules:due", 1, "nightly")
        },
        .warning("schedule-stopped", "stopped", { _ in "nightly" }) { try $0.plantSchedule(fault: "it is not signed") },
        .warning("schedule-gone", "leftover", { _ in "nightly" }) {
            try $0.damage("ZADD", "schedules:due", 1, "nightly")
        },
        .warning("clock", "clockBack", { _ in "lastSeen" }) {
            try $0.damage("HSET", "meta", "lastSeen", 4_000_000_000_000)
        },
        .note("wake", "wake", { _ in "wake" }) { try $0.damage("RPUSH", "wake", 1, 1) },
        .note("surprise", "unknownKey", { $0.prefix + "surprise" }) { try $0.damage("SET", "surprise", 1) },
        .warning("forgotten", "unregistered", { $0.queue }) {
            try $0.redis.ask(RedisCommand("SREM", $0.registry, $0.queue))[0].expectSuccess()
        },
    ]
}

/// A load of operations that use one feature
private enum FeatureLoad: String, CaseIterable, Sendable {
    case limitKeys, uniqueKeys, dependencies, groups, delays

    func lines(_ count: Int, round: Int) -> [String] {
        (0..<count).map { #"{"name":"noop"\#(fields($0, round))}"# }
    }

    private func fields(_ number: Int, _ round: Int) -> String {
        switch self {
        case .limitKeys: #","limitKey":"k\#(number % 20)""#
        case .uniqueKeys: #","unique":"u\#(number % 200)","ifExists":"\#(number % 3 == 0 ? "enqueue" : "join")""#
        case .dependencies:
            #","id":"d\#(round)-\#(number)""# + (number % 10 == 0 ? "" : #","after":["d\#(round)-\#(number - 1)"]"#)
        case .groups: ""
        case .delays: #","in":"\#(number % 3 + 1)s","expires":"\#(number % 2 + 1)s""#
        }
    }
}

extension Ward {
    /// Stores a schedule without a next instant.
    fileprivate func plantSchedule(fault: String = "") throws {
        let definition = #"{"every":3600000,"anchor":0,"operation":{"name":"noop","args":{}}}"#
        try damage("HSET", "schedules", "nightly", "1 0 1 ann\n" + definition, "runs:nightly", "0 0 - 0 0\n" + fault)
    }

    /// The key of the set of the namespace's queues
    fileprivate var registry: String {
        String(prefix.dropFirst().prefix { $0 != "/" }) + ":queues"
    }
}

extension CommandLineTests {
    @Suite("doctor")
    struct DoctorTests {
        private let sluice = CommandLine()

        private func findings(_ report: JSONValue) -> [(
            queue: String?, code: String, subject: String, severity: String
        )] {
            (report["findings"]?.arrayValue ?? []).map {
                (
                    $0["queue"]?.stringValue, $0["code"]?.stringValue ?? "", $0["subject"]?.stringValue ?? "",
                    $0["severity"]?.stringValue ?? ""
                )
            }
        }

        @Test(
            "Each damage is found in its queue, a healthy queue has no findings, and --fix fixes the damage"
        )
        func damages() async throws {
            var wards: [Ward] = []
            for damage in Damage.all { wards.append(try await Ward(damage.name, sluice.broker)) }
            _ = try await Ward("healthy", sluice.broker)
            let before = try await sluice.json("doctor", "--deep")
            #expect(before["errors"]?.intValue == 0, "\(before)")
            #expect(findings(before).allSatisfy { $0.queue == nil }, "\(before)")
            #expect(before["looked"]?["complete"] == true)

            for (damage, ward) in zip(Damage.all, wards) { try damage.plant(ward) }
            let outcome = try await sluice("doctor", "--deep", "-o", "json")
            #expect(outcome.code == 1)
            let found = findings(try JSONValue(parsing: outcome.output))
            for (damage, ward) in zip(Damage.all, wards) {
                #expect(
                    found.contains {
                        $0 == (damage.name, damage.code, damage.subject(ward), damage.severity)
                    },
                    "\(damage.name): \(found.filter { $0.queue == damage.name })"
                )
            }
            #expect(!found.contains { $0.queue == "healthy" })
            let shown = try await sluice("doctor", "--deep").output
            #expect(!shown.contains("\u{1B}"))
            try await mend()
        }

        /// The errors under a load. On a busy machine no worker may sweep for a minute, which is an error as well.
        private func errorsUnderLoad(_ report: JSONValue) -> Set<String> {
            errors(report).filter { !$0.contains(" unswept ") }
        }

        private func errors(_ report: JSONValue) -> Set<String> {
            Set(findings(report).filter { $0.severity == "error" }.map { "\($0.queue ?? "") \($0.code) \($0.subject)" })
        }

        /// Fixes every fixable finding: schedules with the suggested commands, the rest with `--fix`.
        private func mend() async throws {
            let before = try await sluice.json("doctor", "--deep")
            let dry = try await sluice("doctor", "--deep", "--fix", "--dry-run", "-o", "json")
            #expect(dry.code == 1)
            #expect(try errors(JSONValue(parsing: dry.output)) == errors(before), "a dry run changes nothing")
            let unasked = try await sluice("doctor", "--deep", "--fix")
            #expect(unasked.code == 5 && unasked.errors.contains("not confirmed: fix "), "\(unasked)")
            for command in (before["findings"]?.arrayValue ?? []).compactMap({ $0["fix"]?.stringValue }) {
                for command in command.split(separator: " && ")
                where command.hasPrefix("sluice schedule ") && !command.contains("…") {
                    let words = command.split(separator: " ").dropFirst().map(String.init)
                    #expect(await (try sluice.start(words)).outcome().code == 0, "\(command)")
                }
            }
            let outcome = try await sluice("doctor", "--deep", "--fix", "-y", "-o", "json")
            let report = try JSONValue(parsing: outcome.output)
            // No data is left about the operation that this schedule enqueued.
            #expect(errors(report).isSubset(of: ["instant-gone noInstant nightly"]), "\(report)")
            #expect(report["fixed"]?.arrayValue?.isEmpty == false)
            let again = try await sluice.json("doctor", "--deep", "--fix", "-y")
            #expect(again["fixed"] == [], "\(again)")
        }

        @Test("A removed dependency with the policy hold is no error: its dependent waits for an operator")
        func removedBelowHold() async throws {
            let first = try await sluice.enqueue("noop")
            let here = try await sluice.enqueue("noop", "--after", "\(first):hold")
            let elsewhere = try await sluice.enqueue("noop", "-q", "other", "--after", "default/\(first):hold")
            let worker = try await sluice.worker("-q", "third,other")
            try await sluice.lines("rm", first)
            try await eventually("both know") {
                for id in [here, elsewhere] {
                    let detail = try await sluice.detail(id)
                    guard detail?.links.needs.first?.isStuck == true else { return false }
                }
                return true
            }
            worker.send(SIGTERM)
            _ = await worker.outcome()
            let report = try await sluice.json("doctor", "--deep")
            #expect(report["errors"]?.intValue == 0, "\(report["findings"] ?? .null)")
        }

        @Test(
            "A member of another queue that is enqueued again is no error: its group asks, and learns of the new end"
        )
        func memberEnqueuedAgain() async throws {
            let group = try await sluice.lines("group", "open", "nightly", "-q", "other")[0]
            func enqueue() async throws {
                let member = ["fail", "--attempts", "1", "--id", "m1", "--group", "other/\(group)", "--quiet"]
                #expect(await (try sluice.start(["enqueue"] + member)).outcome().code == 0)
            }
            func failed() async throws -> Int? { try await sluice.json("group", "show", group)["failed"]?.intValue }
            try await enqueue()
            let first = try await sluice.worker("-q", "default,other")
            try await eventually("the group hears of the death") { try await failed() == 1 }
            first.send(SIGTERM)
            #expect(await first.outcome().code == 0)
            try await enqueue()
            let report = try await sluice.json("doctor", "--deep")
            #expect(report["errors"]?.intValue == 0, "\(report["findings"] ?? .null)")
            let second = try await sluice.worker("-q", "default,other")
            try await eventually("the group hears of it again") { try await failed() == 1 }
            second.send(SIGTERM)
            #expect(await second.outcome().code == 0)
        }

        @Test("An operation retried below a removed one is no error, but doctor names it")
        func retriedBelowRemoved() async throws {
            let first = try await sluice.enqueue("noop")
            let second = try await sluice.enqueue("noop", "--after", first)
            try await sluice.lines("cancel", first)
            try await sluice.lines("rm", first)
            try await sluice.lines("retry", second)
            let report = try await sluice.json("doctor", "--deep")
            #expect(report["errors"]?.intValue == 0, "\(report["findings"] ?? .null)")
            let named = report["findings"]?.arrayValue?.first { $0["code"]?.stringValue == "neverStarts" }
            #expect(named?["message"]?.stringValue?.contains(second) == true, "\(report["findings"] ?? .null)")
            #expect(try await sluice.lines("explain", second).contains("  try:  sluice release \(second)"))
        }

        @Test("doctor finds no error under load, with cancels and a dying worker")
        func load() async throws {
            let folder = try TemporaryDirectory()
            let path = folder.path("noops.jsonl")
            try (0..<4000).map { #"{"name":"\#($0 % 50 == 0 ? "fail" : "noop")"}"# }.joined(separator: "\n")
                .write(toFile: path, atomically: true, encoding: .utf8)
            let workers = [try await sluice.worker("-c", "8"), try await sluice.worker("-c", "8")]
            let producer = Task { [sluice] in
                for round in 0..<6 {
                    try await sluice.lines("enqueue", "--batch", path, "--quiet")
                    try await sluice.lines("enqueue", "--batch", path, "--quiet", "--no-track")
                    if round % 2 == 1 { try await sluice.lines("cancel", "--all", "-y") }
                    if round == 3 { workers[0].send(SIGKILL) }
                }
            }
            for _ in 0..<6 {
                let report = try await sluice.json("doctor", "--deep")
                #expect(report["errors"]?.intValue != nil && errorsUnderLoad(report).isEmpty, "\(report)")
            }
            try await producer.value
            let report = try await sluice.json("doctor")
            #expect(report["errors"]?.intValue != nil && errorsUnderLoad(report).isEmpty, "\(report)")
            workers[1].send(SIGTERM)
            _ = await workers[1].outcome()
        }

        @Test(
            "doctor finds no error under the load of each feature, and --fix changes nothing",
            arguments: FeatureLoad.allCases
        )
        private func features(_ load: FeatureLoad) async throws {
            let folder = try TemporaryDirectory()
            try await sluice.lines("queue", "limit", "default", "key.concurrency=2")
            let worker = try await sluice.worker("-c", "8")
            let producer = Task { [sluice] in
                for round in 0... {
                    if Task.isCancelled { return }
                    let path = try folder.file("\(round).jsonl", load.lines(1000, round: round).joined(separator: "\n"))
                    guard load == .groups else {
                        try await sluice.lines("enqueue", "--batch", path, "--quiet")
                        continue
                    }
                    let group = try await sluice.lines("group", "open", "g\(round)", "-o", "id")[0]
                    try await sluice.lines("enqueue", "--batch", path, "--quiet", "--group", group)
                    try await sluice.lines("group", "close", group)
                }
            }
            for run in 0..<(LongTests.areOn ? 50 : 4) {
                let fix = run % 4 == 3 ? ["--fix", "-y"] : []
                let outcome = await (try sluice.start(["doctor", "--deep", "-o", "json"] + fix)).outcome()
                let report = try JSONValue(parsing: outcome.output)
                #expect(report["errors"]?.intValue == 0, "\(report)")
                #expect(report["fixed"] == [], "\(report)")
            }
            producer.cancel()
            try await producer.value
            worker.send(SIGTERM)
            _ = await worker.outcome()
        }

        @Test(
            "doctor names unhandled operations, lost workers and queues without workers; foreign text is escaped"
        )
        func service() async throws {
            let ward = try await Ward("mail", sluice.broker)
            let name = OperationEnvelope(name: "Send\u{1B}[31m").encoded()
            _ = try await sluice.broker.enqueue([NewOperation(envelope: name)], queue: "mail")
            let unserved = try await sluice("doctor")
            #expect(unserved.code == 0, "\(unserved.output)")
            #expect(unserved.output.contains(#"queue mail, Send\x1b[31m: no live worker handles this name"#))
            #expect(try await sluice("doctor", "--strict").code == 1)
            try ward.damage("ZADD", "leases", 1, ward.worker)
            let lost = findings(try await sluice.json("doctor"))
            #expect(lost.contains { $0 == ("mail", "unswept", "\(ward.worker)", "warning") }, "\(lost)")
            #expect(lost.contains { $0 == ("mail", "noWorker", "mail", "warning") }, "\(lost)")
            try ward.plantSchedule()
            try ward.damage("ZADD", "schedules:due", 1, "nightly")
            let overdue = try await sluice.json("doctor")["findings"]?.arrayValue?.first { $0["code"] == "overdue" }
            #expect(
                overdue?["severity"] == "warning" && overdue?["fix"] == "sluice worker -q mail",
                "\(overdue ?? .null)"
            )
        }

        @Test(
            "doctor reports wrong server settings, and what its user may not do",
            .enabled(if: TestRedis.isSingle, "it is about one server's settings; ClusterTests have those of a node")
        )
        func server() async throws {
            let server = try TestServer.start(
                TestServer.Options(["maxmemory-policy allkeys-lru", "maxmemory 100mb"])
            )
            let sluice = CommandLine(server.endpoint)
            _ = try await Ward("mail", sluice.broker, redis: .server(server))
            let found = findings(try await sluice.json("doctor"))
            #expect(found.contains { $0 == (nil, "eviction", "maxmemory-policy", "error") }, "\(found)")
            #expect(found.contains { $0 == (nil, "persistence", "appendonly", "warning") }, "\(found)")
            try server.ask(
                RedisCommand("ACL", "SETUSER", "deaf", "on", ">pw", "~*", "resetchannels", "+@all", "-scan", "-config")
            )[0].expectSuccess()
            let outcome = try await Program.run(
                "sluice",
                ["doctor", "-N", sluice.namespace, "-o", "json"],
                environment: ["SLUICE_REDIS_URL": "unix://deaf:pw@\(server.socketPath)"]
            )
            #expect(outcome.code == 1)
            let deaf = findings(try JSONValue(parsing: outcome.output))
            #expect(deaf.contains { $0.code == "noChannels" && $0.severity == "error" }, "\(deaf)")
            #expect(deaf.contains { $0.code == "notAllowed" }, "\(deaf)")
        }
    }
}
