import Foundation
import Operations
import RedisClient
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("explain")
    struct ExplainTests {
        private let sluice = CommandLine()

        private func reasons(_ id: String) async throws -> [JSONValue] {
            try await sluice.json("explain", id)["reasons"]?.arrayValue ?? []
        }

        private func codes(_ id: String) async throws -> [String] {
            try await reasons(id).compactMap { $0["code"]?.stringValue }
        }

        /// Waits until explain names the reason, and returns it. The next answer may lack it again.
        @discardableResult
        private func explained(_ code: String, _ id: String) async throws -> JSONValue {
            var reason: JSONValue?
            try await eventually("\(code) explains \(id)") {
                reason = try await reasons(id).first { $0["code"]?.stringValue == code }
                return reason != nil
            }
            return try #require(reason)
        }

        @Test("explain names every reason that holds, with facts and commands that help")
        func every() async throws {
            let other = try await sluice.enqueue("noop")
            let id = try await sluice.enqueue("noop")
            try await sluice.lines("queue", "pause", "default")
            #expect(try await codes(id) == ["paused", "noWorker", "backlog"])
            let lines = try await sluice.lines("explain", id)
            let first = "\(id) noop in queue default is ready: queue default is paused until it is resumed, by "
            #expect(lines[0].hasPrefix(first) && lines[0].hasSuffix(" (and 2 more reasons)"), "\(lines[0])")
            #expect(lines.contains { $0.contains("ahead: 1 of its priority, 0 of higher priority") }, "\(lines)")
            #expect(lines.suffix(2) == ["  try:  sluice queue resume default", "  try:  sluice worker -q default"])
            let both = try await sluice.lines("explain", "-w", "name:noop", "-o", "id")
            #expect(Set(both) == [other, id])
        }

        @Test("explain follows dependencies to the end, over queues, and names the command that helps there")
        func chain() async throws {
            let first = try await sluice.enqueue("noop", "--queue", "mail")
            try await sluice.lines("hold", first, "--reason", "wrong file")
            let second = try await sluice.enqueue("noop", "--queue", "mail", "--after", first)
            let third = try await sluice.enqueue("noop", "--queue", "images", "--after", "mail/\(second)")
            let explained = try await sluice.json("explain", third)
            let because = explained["because"]?.arrayValue ?? []
            #expect(because.compactMap { $0["id"]?.stringValue } == [second, first], "\(explained)")
            #expect(because.last?["sentence"]?.stringValue?.contains("it is held, by ") == true, "\(explained)")
            #expect(because.last?["reasons"]?[0]?["facts"]?[1]?["text"] == "wrong file", "\(explained)")
            let lines = try await sluice.lines("explain", third)
            #expect(lines.filter { $0.hasPrefix("  because") }.count == 2, "\(lines)")
            #expect(lines.contains("  try:  sluice release \(first)"), "\(lines)")
            #expect(!lines.contains { $0.contains("try:  sluice explain") }, "\(lines)")
            try await sluice.lines("release", first)
            #expect(try await sluice.json("explain", third)["because"]?[1]?["state"] == "ready")
        }

        @Test("For a key held by a scheduled operation, explain names the command that starts that one")
        func keyHolder() async throws {
            let holder = try await sluice.enqueue("noop", "--unique", "k", "--in", "2h")
            let waiting = try await sluice.enqueue("noop", "--unique", "k", "--if-exists", "enqueue")
            let lines = try await sluice.lines("explain", waiting)
            #expect(lines.contains("  try:  sluice retry \(holder)"), "\(lines)")
            try await sluice.lines("retry", holder)
            #expect(try await sluice.state(holder) == "ready")
        }

        @Test("explain names a start time, a failed attempt and an end")
        func times() async throws {
            let later = try await sluice.enqueue("noop", "--in", "1h")
            #expect(try await codes(later) == ["notDue", "noWorker"])
            let worker = try await sluice.worker()
            let ended = try await sluice.enqueue("fail", "--attempts", "1")
            try await sluice.reaches("dead", ended)
            #expect(try await codes(ended) == ["ended"])
            // Pauses double, so one of them is long enough to be seen.
            let retrying = try await sluice.enqueue("fail", "--attempts", "20")
            try await explained("retryDelay", retrying)
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        @Test("explain names unhandled names, busy slots, cancels and a killed worker")
        func workers() async throws {
            // A heartbeat every 30 s reports busy slots. A delay of 15 s would make this a silent worker.
            let steady = try await sluice.worker("-c", "1", "--lease", "90s")
            let unknown = try await sluice.enqueue("job")
            try await explained("unknownName", unknown)
            let lines = try await sluice.lines("explain", unknown)
            #expect(lines.contains { $0.contains("known:") && $0.contains("noop") }, "\(lines)")
            let running = try await sluice.enqueue("sleep", "seconds:=600")
            try await sluice.reaches("executing", running)
            #expect(try await codes(running) == ["executing"])
            let waiting = try await sluice.enqueue("noop")
            try await explained("slotsBusy", waiting)
            try await sluice.lines("cancel", running, "--wait=180s")
            try await sluice.reaches("finished", waiting)
            steady.send(SIGTERM)
            #expect(await steady.outcome().code == 0)

            let victim = try await sluice.worker("-c", "1", "--lease", "3s")
            let held = try await sluice.enqueue("sleep", "seconds:=600")
            try await sluice.reaches("executing", held)
            let behind = try await sluice.enqueue("noop")
            victim.send(SIGKILL)
            _ = await victim.outcome()
            try await explained("workerLost", held)
            try await explained("noWorker", behind)
            try await sluice.lines("cancel", held)
            #expect(try await codes(held).contains("cancelling"))
            try await sluice.lines("cancel", "--queue", "default", "-y")
            #expect(try await codes(behind) == ["queueCancelled"])
        }

        @Test("explain says that the body of a force-cancelled key holder has not stopped")
        func forcedHolder() async throws {
            let worker = try await sluice.worker("--lease", "1h")
            let holder = try await sluice.enqueue("sleep", "seconds:=600", "--unique", "k")
            // The worker may be stopped before, while or after the body begins.
            try await sluice.reaches("executing", holder)
            worker.send(SIGSTOP)
            #expect(try await sluice("cancel", holder, "--force").code == 0)
            let waiting = try await sluice.enqueue("noop", "--unique", "k", "--if-exists", "enqueue")
            let lines = try await sluice.lines("explain", waiting).joined(separator: "\n")
            #expect(lines.contains("which \(holder) has until its body has stopped"), "\(lines)")
            #expect(lines.contains("try:  sluice show \(holder)") && !lines.contains("sluice cancel"), "\(lines)")
            worker.send(SIGCONT)
            try await sluice.reaches("finished", waiting)
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        /// Returns the words of the command that a reason names as its fix, without `sluice`.
        private func remedy(_ code: String, _ id: String) async throws -> [String] {
            let reason = try await explained(code, id)
            let words = try #require(reason["fix"]?.stringValue).split(separator: " ").map(String.init)
            #expect(words.first == "sluice")
            return Array(words.dropFirst())
        }

        private func helps(_ code: String, _ id: String, _ situation: Comment) async throws {
            let words = try await remedy(code, id)
            let outcome = await (try sluice.start(words)).outcome()
            #expect(outcome.code == 0, "\(situation): \(words): \(outcome.errors)")
            try await eventually("\(words) ends \(code)") { try await !codes(id).contains(code) }
        }

        @Test("Without a worker, the fix that explain names ends its reason")
        func remedies() async throws {
            let id = try await sluice.enqueue("noop", "-t", "x")
            try await sluice.lines("queue", "pause", "default")
            try await helps("paused", id, "a paused queue")
            try await sluice.lines("hold", id)
            try await helps("held", id, "a held operation")
            try await sluice.lines("cancel", "-w", "tag:nothing", "--until", "1h", "-y")
            try await sluice.lines("cancel", "-w", "tag:later", "--until", "1h", "-y")
            let caught = try await sluice.enqueue("noop", "-t", "later")
            try await helps("standingCancel", caught, "a standing cancel")
            let later = try await sluice.enqueue("noop", "--in", "1h")
            try await helps("notDue", later, "a time to come")
            _ = try await sluice.enqueue("noop", "--unique", "k", "--in", "1h")
            let behind = try await sluice.enqueue("noop", "--unique", "k", "--if-exists", "enqueue")
            try await helps("keyTaken", behind, "a unique key")
            let cancelled = try await sluice.enqueue("noop")
            let held = try await sluice.enqueue("noop", "--after", "\(cancelled):hold")
            try await sluice.lines("cancel", cancelled)
            #expect(try await remedy("needs", held) == ["retry", cancelled])
            try await helps("ended", cancelled, "an end")
            #expect(try await sluice.state(cancelled) == "ready")
            for number in 0..<4 { _ = try await sluice.enqueue("noop", "--limit-key", "a", "-t", "\(number)") }
            let second = try #require(try await sluice.lines("list", "-t", "1", "-o", "id").first)
            try await helps("keyTurn", second, "equal shares of keys")
        }

        @Test("With a worker, the fix that explain names ends its reason")
        func remediesBesideWorker() async throws {
            let worker = try await sluice.worker("-c", "9")
            try await sluice.lines("queue", "limit", "default", "concurrency=1", "key.concurrency=1")
            let first = try await sluice.enqueue("sleep", "seconds:=600", "--limit-key", "a")
            try await sluice.reaches("executing", first)
            let second = try await sluice.enqueue("sleep", "seconds:=600", "--limit-key", "a")
            let third = try await sluice.enqueue("sleep", "seconds:=600")
            try await helps("limited", third, "the limit of a queue")
            try await sluice.reaches("executing", third)
            try await sluice.lines("queue", "limit", "default", "concurrency=9")
            try await helps("keyLimited", second, "the limit of a key")
            try await sluice.reaches("executing", second)
            let retrying = try await sluice.enqueue("fail", "--attempts", "20")
            // The next attempt also fails at once. Pauses double, so one of them is longer than these commands take.
            try await eventually("the remedy of a failed attempt begins the next one before its time") {
                let words = try await remedy("retryDelay", retrying)
                let shown = try await sluice.json("show", retrying)
                guard let before = shown.milliseconds("startedAt"), let due = shown.milliseconds("dueAt") else {
                    return false
                }
                _ = await (try sluice.start(words)).outcome()
                var next = before
                try await eventually("it begins again") {
                    next = try await sluice.json("show", retrying).milliseconds("startedAt") ?? before
                    return next != before
                }
                return next < due
            }
            let name = try #require(try await sluice.lines("workers", "ls", "-o", "id").first)
            try await sluice.lines("workers", "quiet", name)
            try await sluice.awaitPhase("quiet", ofWorkersOf: "default")
            let waiting = try await sluice.enqueue("noop")
            try await helps("workersQuiet", waiting, "a quiet worker")
            try await sluice.reaches("finished", waiting)
            for id in [first, second, third] { try await sluice.lines("cancel", id, "--wait=180s") }
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        @Test("A higher rate lets the next operation start sooner")
        func rateRemedies() async throws {
            let worker = try await sluice.worker()
            for (code, limits, key) in [("rateReached", "rate=1/1h", ""), ("keyRateReached", "key.rate=1/1h", "a")] {
                let queue = "of-\(code)"
                try await sluice.lines("queue", "limit", queue, limits)
                let served = try await sluice.worker("-q", queue, "--lease", "10m")
                let options = ["-q", queue] + (key.isEmpty ? [] : ["--limit-key", key])
                func enqueue() async throws -> String {
                    let outcome = await (try sluice.start(["enqueue", "noop", "-o", "id", "--quiet"] + options))
                        .outcome()
                    return outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
                }
                func seconds(_ id: String) async throws -> Int {
                    try await sluice.json("explain", id)["estimatedStartSeconds"]?.intValue ?? 0
                }
                var last = try await enqueue()
                for _ in 0..<3 { last = try await enqueue() }
                let words = try await remedy(code, last)
                let before = try await seconds(last)
                #expect(before > 0)
                #expect(await (try sluice.start(words)).outcome().code == 0, "\(words)")
                try await eventually("\(words) lets it start sooner") {
                    let after = try await seconds(last)
                    return after > 0 && after < before * 3 / 4
                }
                served.send(SIGTERM)
                #expect(await served.outcome().code == 0)
            }
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        @Test("explain names a full Redis")
        func full() async throws {
            let redis = try TestRedis.start()
            let sluice = CommandLine(redis.endpoint)
            let id = try await sluice.enqueue("noop")
            for server in redis.servers {
                try server.ask(RedisCommand("CONFIG", "SET", "maxmemory", "1"))[0].expectSuccess()
            }
            let reasons = try await sluice.json("explain", id)["reasons"]?.arrayValue ?? []
            #expect(reasons.contains { $0["code"]?.stringValue == "redisFull" }, "\(reasons)")
        }

        @Test("explain without an operation, and of an unknown one, ends like other commands")
        func usage() async throws {
            #expect(try await sluice("explain").code == 64)
            #expect(try await sluice("explain", OperationID().description).code == 3)
            #expect(try await sluice("explain", "-w", "name:noop", "--limit", "0").code == 64)
        }
    }
}
