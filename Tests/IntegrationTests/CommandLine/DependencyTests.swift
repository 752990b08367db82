import Foundation
import Operations
import RedisClient
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("enqueue --after, graph")
    struct DependencyTests {
        private let sluice = CommandLine()

        private func file(_ lines: [String]) throws -> String {
            let path = try makeTemporaryFolder() + "/batch.jsonl"
            try lines.joined(separator: "\n").write(toFile: path, atomically: true, encoding: .utf8)
            return path
        }

        @Test("--after blocks until the dependencies end; show, explain, graph and JSON name them")
        func blocked() async throws {
            let first = try await sluice.enqueue("noop", "--id", "order:7")
            let second = try await sluice.enqueue("noop", "--after", "order:7")
            let third = try await sluice.enqueue("noop", "--after", "\(first):run,\(second):hold")
            let shown = try await sluice.json("show", third)
            #expect(
                shown["state"]?.stringValue == "blocked" && shown["unmetCount"] == 2 && shown["dependencyCount"] == 2
            )
            let policies = shown["dependencies"]?.arrayValue?.compactMap { $0["onFailure"]?.stringValue } ?? []
            #expect(policies.sorted() == ["hold", "run"])
            let dependents = try await sluice.json("show", first)["dependents"]?.arrayValue?.compactMap(\.stringValue)
            #expect(dependents.map(Set.init) == [second, third])
            #expect(try await sluice("show", third).output.contains("needs      \(second) blocked (hold)"))
            let reason = try #require(try await sluice.json("explain", third)["reasons"]?.arrayValue?.first)
            #expect(reason["code"]?.stringValue == "needs", "\(reason)")
            #expect(reason["text"]?.stringValue == "it waits for 2 operations")
            let tree = try await sluice.lines("graph", second)
            #expect(tree.count == 5 && tree[0].contains("3 operations: 2 blocked, 1 ready"), "\(tree)")
            #expect(tree[1].contains(first) && tree.contains { $0.contains(second) && $0.hasSuffix("◀") }, "\(tree)")
            let dot = try await sluice.lines("graph", second, "--dot")
            #expect(dot.contains("  \"\(second)\" -> \"\(third)\" [label=\"hold\"];"), "\(dot)")
            try await sluice.lines("cancel", first, "--quiet")
            #expect(try await sluice.state(second) == "cancelled")
            #expect(try await sluice.state(third) == "blocked")
            let held = try #require(try await sluice.json("explain", third)["reasons"]?.arrayValue?.first)
            #expect(held["text"]?.stringValue?.contains("of which \(second) is cancelled (hold)") == true, "\(held)")
            #expect(held["fix"]?.stringValue?.hasSuffix("retry \(second)") == true, "\(held)")
            let cancelled = try #require(try await sluice.json("explain", second)["reasons"]?.arrayValue?.first)
            #expect(cancelled["fix"]?.stringValue?.hasSuffix("retry \(first) --tree") == true, "\(cancelled)")
            try await sluice.lines("release", third, "--quiet")
            #expect(try await sluice.state(third) == "ready")
        }

        @Test("Lines of a batch may depend on each other in any order")
        func batch() async throws {
            let lines = [
                #"{"name":"noop","id":"last","after":["middle-1","middle-2:run"]}"#,
                #"{"name":"noop","id":"middle-1","after":"first"}"#,
                #"{"name":"noop","id":"middle-2","after":["first"]}"#, #"{"name":"noop","id":"first"}"#,
            ]
            let file = try file(lines)
            try await sluice.lines("enqueue", "--batch", file, "--quiet")
            #expect(try await sluice.count(.blocked) == 3)
            let graph = try await sluice.json("graph", "first")
            #expect(graph["edges"]?.arrayValue?.count == 4)
            #expect(graph["estimate"]?["text"]?.stringValue == "no estimate: no runs of noop")
            #expect(graph["estimate"]?["endsInMilliseconds"] == .null)
        }

        @Test("graph draws twenty of many siblings and counts the others by state")
        func folded() async throws {
            let first = try await sluice.enqueue("noop")
            let lines = (0..<45).map { #"{"name":"noop","id":"part-\#($0)","after":"\#(first)"}"# }
            try await sluice.lines("enqueue", "--batch", try file(lines), "--quiet")
            try await sluice.lines("cancel", "part-44", "--quiet")
            let tree = try await sluice.lines("graph", first)
            #expect(tree.count == 23, "the summary, the first, twenty, the others: \(tree)")
            let others = tree.last ?? ""
            #expect(others.hasPrefix("└─ … 25 more: 2") && others.contains(" blocked"), "\(tree)")
        }

        @Test(
            "cancel --tree ends dependents of any policy; retry --tree reruns those cancelled because of it"
        )
        func tree() async throws {
            let first = try await sluice.enqueue("noop")
            let second = try await sluice.enqueue("noop", "--after", "\(first):run")
            let third = try await sluice.enqueue("noop", "--after", "\(second):hold")
            let preview = try await sluice("cancel", first, "--tree", "--dry-run")
            #expect(preview.code == 0 && (preview.output + preview.errors).contains("3"), "\(preview)")
            #expect(try await sluice.state(second) == "blocked")
            #expect(try await sluice("cancel", first, "--tree").code == 0)
            for id in [first, second, third] { #expect(try await sluice.state(id) == "cancelled") }
            #expect(try await sluice.json("show", third)["cancel"]?["reason"]?.stringValue == "with \(first)")
            let back = try await sluice("retry", first, "--tree", "--dry-run")
            #expect(back.code == 0 && (back.output + back.errors).contains("3 "), "\(back)")
            #expect(try await sluice("retry", second, "--tree").code == 0)
            #expect(try await sluice.state(first) == "cancelled")
            #expect(try await sluice.state(third) == "blocked")
            #expect(try await sluice("cancel", second, "--tree", "--reason", "with care").code == 0)
            #expect(try await sluice("retry", first, "--tree").code == 0)
            #expect(try await sluice.state(first) == "ready")
            for id in [second, third] { #expect(try await sluice.state(id) == "cancelled", "they went with another") }
            #expect(try await sluice("retry", second, "--tree").code == 0)
            #expect(try await sluice.state(second) == "ready", "the end of the first counts, whatever it is")
            #expect(try await sluice.state(third) == "blocked")

            let root = try await sluice.enqueue("noop")
            let child = try await sluice.enqueue("noop", "--after", root)
            let grandchild = try await sluice.enqueue("noop", "--after", child)
            let other = try await sluice.enqueue("noop", "--after", root)
            try await sluice.lines("cancel", other, "--quiet")
            try await sluice.lines("cancel", root, "--quiet")
            #expect(try await sluice.state(grandchild) == "cancelled")
            #expect(try await sluice("retry", root, "--tree").code == 0)
            #expect(try await sluice.state(root) == "ready")
            #expect(try await sluice.state(child) == "blocked")
            #expect(try await sluice.state(grandchild) == "blocked")
            #expect(try await sluice.state(other) == "cancelled", "an operator has cancelled it")
            let both = try await sluice("retry", "-w", "state:dead", "--tree")
            #expect(both.code == 64 && both.errors.contains("--tree needs ids of operations"))
        }

        @Test("cancel --tree starts nothing, although workers are idle and dependents would run after any end")
        func treeBesideIdleWorker() async throws {
            let worker = try await sluice.worker("-q", "default,other")
            let root = try await sluice.enqueue("noop", "--in", "1h")
            var chain = [root]
            for number in 0..<8 {
                let before = "\(number % 2 == 1 ? "other" : "default")/\(chain[number]):run"
                chain.append(
                    try await sluice.enqueue("noop", "-q", number % 2 == 0 ? "other" : "default", "--after", before)
                )
            }
            #expect(try await sluice("cancel", "default/\(root)", "--tree").code == 0)
            for id in chain.dropFirst() {
                let shown = try await sluice.json("show", id)
                #expect(shown["state"]?.stringValue == "cancelled" && shown["attempt"]?.intValue == 0, "\(shown)")
                #expect(shown["cancel"]?["reason"]?.stringValue == "with \(root)", "\(shown)")
            }
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        @Test("cancel --tree cancels the last dependent first, so no earlier end starts it")
        func order() async throws {
            let first = try await sluice.enqueue("noop")
            let second = try await sluice.enqueue("noop", "--after", "\(first):run")
            #expect(try await sluice("cancel", first, "--tree").code == 0)
            let cancels = try await sluice.lines("events", "--changes", "--since", "1h", "--no-follow", "-o", "csv")
                .filter { $0.contains(",cancel,1,") }
            #expect(
                cancels.count == 2 && cancels[0].contains(second) && cancels[0].hasSuffix("with \(first)"),
                "\(cancels)"
            )
            #expect(cancels.last?.contains(first) == true)
        }

        @Test("retry --tree of several operations reverses cancel --tree of the same ones")
        func treesOfSeveral() async throws {
            let first = try await sluice.enqueue("noop", "--in", "1h")
            let second = try await sluice.enqueue("noop", "--after", first)
            let third = try await sluice.enqueue("noop", "--after", second)
            for names in [[first, second], [second, first]] {
                #expect(await (try sluice.start(["cancel"] + names + ["--tree"])).outcome().code == 0)
                for id in [first, second, third] { #expect(try await sluice.state(id) == "cancelled") }
                #expect(await (try sluice.start(["retry"] + names + ["--tree"])).outcome().code == 0)
                for id in [second, third] { #expect(try await sluice.state(id) == "blocked") }
                try await sluice.lines("edit", first, "--in", "1h", "--quiet")
            }
        }

        @Test(
            "Dependencies may be in other queues: show, explain, graph and cancel --tree name them"
        )
        func elsewhere() async throws {
            let first = try await sluice.enqueue("noop", "-q", "mail")
            let second = try await sluice.enqueue("noop", "-q", "images", "--after", "mail/\(first)")
            let third = try await sluice.enqueue("noop", "-q", "mail", "--after", "\(second):hold")
            let shown = try await sluice.json("show", "images/\(second)")
            #expect(shown["state"]?.stringValue == "blocked")
            let need = try #require(shown["dependencies"]?.arrayValue?.first)
            #expect(need["queue"]?.stringValue == "mail" && need["id"]?.stringValue == first)
            #expect(shown["dependentQueues"] == ["mail"])
            let lines = try await sluice.lines("show", second)
            #expect(lines.contains("  needs      mail/\(first) not ended"), "\(lines)")
            #expect(lines.contains("  needed in  queue mail"), "\(lines)")
            let reason = try #require(try await sluice.json("explain", third)["reasons"]?.arrayValue?.first)
            #expect(reason["fix"]?.stringValue?.hasSuffix("explain images/\(second)") == true, "\(reason)")
            let tree = try await sluice.lines("graph", first)
            #expect(tree.count == 4 && tree[2].contains("images/\(second)") && tree[3].contains(third), "\(tree)")
            let graph = try await sluice.json("graph", third)
            #expect(graph["edges"]?.arrayValue?.compactMap { $0["fromQueue"]?.stringValue } == ["mail", "images"])
            let dot = try await sluice.lines("graph", first, "--dot")
            #expect(dot.contains("  \"images/\(second)\" -> \"\(third)\" [label=\"hold\"];"), "\(dot)")

            let preview = try await sluice("cancel", first, "--tree", "--dry-run")
            #expect(preview.code == 0 && preview.errors.contains("3 "), "\(preview)")
            #expect(try await sluice("cancel", first, "--tree").code == 0)
            for id in [first, second, third] { #expect(try await sluice.state(id) == "cancelled") }
        }

        @Test(
            "Any worker relays an end to another queue; a failure spreads along the graph, and retry --tree reverses it"
        )
        func relayed() async throws {
            let first = try await sluice.enqueue("fail", "-q", "mail", "--attempts", "1")
            let second = try await sluice.enqueue("noop", "-q", "images", "--after", first)
            let third = try await sluice.enqueue("noop", "-q", "mail", "--after", second)
            let worker = try await sluice.worker("-q", "mail,images")
            try await sluice.reaches("cancelled", third)
            let reason = try await sluice.json("show", second)["cancel"]?["reason"]?.stringValue
            #expect(reason == "depends on mail/\(first), which is dead")
            #expect(try await sluice("retry", first, "--tree").code == 0)
            // The third operation is still cancelled until the retry reaches it, so first wait for the second failure.
            try await eventually("the first ran again") { try await sluice.detail(first)?.errors.count == 2 }
            try await sluice.reaches("cancelled", third)
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
            #expect(try await sluice("doctor", "--deep").code == 0)
        }

        @Test("explain names a dependency that its queue has lost, and how to continue without it")
        func lost() async throws {
            let first = try await sluice.enqueue("noop", "-q", "mail", "--in", "1h")
            let second = try await sluice.enqueue("noop", "-q", "images", "--after", "mail/\(first)")
            #expect(try await sluice.lines("explain", second).contains { $0.hasSuffix("mail/\(first), scheduled") })
            // As after a failover to a replica without this operation
            try TestRedis.shared.ask(RedisCommand("DEL", "{\(sluice.namespace)/mail}:\(first)"))[0]
                .expectSuccess()
            let reason = try #require(try await sluice.json("explain", second)["reasons"]?.arrayValue?.first)
            #expect(
                reason["code"] == "needs" && reason["fix"] == .string("sluice release \(second)"),
                "\(reason)"
            )
            #expect(reason["text"]?.stringValue?.contains("mail/\(first) is not in its queue") == true, "\(reason)")
            try await sluice.lines("release", second)
            #expect(try await sluice.state(second) == "ready")
        }

        @Test("A burst does not end while an end is being relayed to another queue")
        func burst() async throws {
            var ids = [try await sluice.enqueue("noop", "-q", "mail")]
            for step in 1...20 {
                ids.append(
                    try await sluice.enqueue("noop", "-q", ["mail", "images"][step % 2], "--after", ids[step - 1])
                )
            }
            #expect(try await sluice("worker", "-q", "mail,images", "--burst").code == 0)
            #expect(try await sluice.state(ids[20]) == "finished")
        }

        @Test(
            "Lines of a batch may depend on each other over several queues, and are printed in their order"
        )
        func batchOverQueues() async throws {
            let lines = [
                #"{"name":"noop","id":"last","queue":"mail","after":["middle","images/other"]}"#,
                #"{"name":"noop","id":"middle","queue":"images","after":"first"}"#,
                #"{"name":"noop","id":"first","queue":"mail"}"#,
                #"{"name":"noop","id":"other","queue":"images","after":"first"}"#,
            ]
            let file = try file(lines)
            let printed = try await sluice.lines("enqueue", "--batch", file, "-o", "jsonl", "--quiet")
            let queues = try printed.map { try JSONValue(parsing: Array($0.utf8))["queue"]?.stringValue }
            #expect(queues == ["mail", "images", "mail", "images"], "\(printed)")
            #expect(try await sluice.json("graph", "first")["edges"]?.arrayValue?.count == 4)
            let both = try await sluice.enqueue("noop", "-q", "mail", "--after", "first,mail/first:run")
            #expect(try await sluice.json("show", both)["dependencyCount"] == 1)
            let refusals = [
                #"{"name":"noop","id":"good","queue":"mail"}"#,
                #"{"name":"noop","id":"bad","queue":"mail","after":"zzz"}"#,
            ]
            let some = try await sluice("enqueue", "--batch", try self.file(refusals), "-o", "id")
            #expect(some.code == 3 && some.output == "\(OperationID(key: "good"))\n", "\(some)")
            #expect(some.errors.contains("1 operation is enqueued"), "\(some)")
            let twice =
                [#"{"name":"noop","id":"a","queue":"mail","after":"b"}"#]
                + ["mail", "images"].map {
                    #"{"name":"noop","id":"b","queue":"\#($0)"}"#
                }
            let refused = try await sluice("enqueue", "--batch", try self.file(twice))
            #expect(refused.code == 64 && refused.errors.contains("is in 2 queues: images/"), "\(refused)")
        }

        @Test(
            "depend adds and removes dependencies; a cycle is refused and changes nothing"
        )
        func changed() async throws {
            let first = try await sluice.enqueue("noop", "-q", "mail")
            let second = try await sluice.enqueue("noop", "-q", "images", "--after", first)
            let third = try await sluice.enqueue("noop", "-q", "mail")
            #expect(try await sluice.lines("depend", third, "--after", "\(second):hold") == ["\(third) is blocked"])
            #expect(try await sluice.json("show", third)["dependencies"]?.arrayValue?.count == 1)
            let cycle = try await sluice("depend", first, "--after", third)
            let closes = "already depends on operation \(first), directly or not"
            #expect(cycle.code == 64 && cycle.errors.contains(closes), "\(cycle)")
            #expect(try await sluice.state(first) == "ready")
            #expect(try await sluice.json("show", first)["dependencyCount"] == 0)
            let kept = try await sluice("depend", second, "--after", first, "--after", third)
            #expect(kept.code == 64 && kept.errors.contains("mail/\(third) already depends on operation"), "\(kept)")
            #expect(try await sluice.json("show", second)["dependencyCount"] == 1, "it waits for the first as before")
            #expect(try await sluice.lines("depend", third, "--after", "\(second):run") == ["\(third) is blocked"])
            let policy = try await sluice.json("show", third)["dependencies"]?.arrayValue?.first?["onFailure"]
            #expect(policy?.stringValue == "run")
            let itself = try await sluice("depend", first, "--after", first)
            #expect(itself.code == 64 && itself.errors.contains("cannot wait for itself"), "\(itself)")
            #expect(try await sluice.lines("depend", third, "--not-after", second) == ["\(third) is ready"])
            for flag in ["--after", "--not-after"] {
                let unknown = try await sluice("depend", third, flag, "no-such")
                #expect(unknown.code == 3, "\(unknown)")
            }
            let nothing = try await sluice("depend", third)
            #expect(nothing.code == 64 && nothing.errors.contains("nothing to change"), "\(nothing)")
            try await sluice.lines("cancel", third, "--quiet")
            let ended = try await sluice("depend", third, "--after", first)
            #expect(ended.code == 5 && ended.errors.contains("is cancelled"), "\(ended)")
        }

        @Test(
            "An operation may have more dependencies than one call holds; an unknown one cancels it and is named"
        )
        func many() async throws {
            let names = (0..<1200).map { "m\($0)" }
            let parts = names.map { #"{"name":"noop","id":"\#($0)"}"# }
            let last: JSONValue = [
                "name": "noop", "id": "last", "after": .array(names.map { .string($0) }), "queue": "other",
            ]
            try await sluice.lines("enqueue", "--batch", try file([last.serialized()] + parts), "--quiet")
            let shown = try await sluice.json("show", "last")
            #expect(shown["dependencyCount"] == 1200 && shown["unmetCount"] == 1200)
            let worker = try await sluice.worker("-q", "default,other", "-c", "50")
            try await sluice.reaches("finished", OperationID(key: "last").description)
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)

            let wrong: JSONValue = [
                "name": "noop", "id": "wrong", "after": .array((names + ["zzz"]).map { .string($0) }),
            ]
            let refused = try await sluice("enqueue", "--batch", try file([wrong.serialized()]))
            #expect(refused.code == 3 && refused.errors.contains("does not exist: it was never enqueued"), "\(refused)")
            #expect(try await sluice.count(.blocked) == 0)
        }

        @Test("A batch with a dependency cycle is refused as a whole")
        func cycle() async throws {
            let lines = [#"{"name":"noop","id":"a","after":"b"}"#, #"{"name":"noop","id":"b","after":"a"}"#]
            let file = try file(lines)
            let outcome = try await sluice("enqueue", "--batch", file)
            #expect(outcome.code == 64 && outcome.errors.contains("wait for each other"), "\(outcome)")
            #expect(try await sluice.count(.blocked) == 0)
        }

        @Test("An unknown dependency is an error that names it, and nothing is enqueued")
        func unknown() async throws {
            let outcome = try await sluice("enqueue", "noop", "--after", "no-such")
            #expect(outcome.code == 3 && outcome.errors.contains("does not exist: it was never enqueued"), "\(outcome)")
            #expect(try await sluice.count(.blocked) == 0)
            let elsewhere = try await sluice("enqueue", "noop", "--after", "other/no-such")
            #expect(elsewhere.code == 3, "\(elsewhere)")
            #expect(elsewhere.errors.contains("does not exist: it was never enqueued"), "\(elsewhere)")
            for queue in ["mail", "images"] { _ = try await sluice.enqueue("noop", "-q", queue, "--id", "same") }
            let unclear = try await sluice("enqueue", "noop", "--after", "same")
            #expect(unclear.code == 64 && unclear.errors.contains("is in 2 queues: images/"), "\(unclear)")
        }

        @Test(
            "A wrong --after is refused, and nothing is enqueued",
            arguments: [
                (["--after", ""], "an operation id is empty"), (["--after", "a,,b"], "an operation id is empty"),
                (["--after", "…7QK2MX"], "does not name the operation to wait for"),
                (["--after", "a", "--no-track"], "always tracked"),
                (["--after", "01K8Z6W3N4T5X7Y8A9B0C1D2E3:wait"], "unknown policy \"wait\""),
                (["--after", (1...10_001).map { "id-\($0)" }.joined(separator: ",")], "at most 10000"),
            ]
        )
        func wrong(_ words: [String], _ text: String) async throws {
            let outcome = await (try sluice.start(["enqueue", "noop"] + words)).outcome()
            #expect(outcome.code == 64 && outcome.errors.contains(text), "\(outcome.code) \(outcome.errors)")
        }
    }
}
