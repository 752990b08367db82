import Foundation
import Operations
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("group, enqueue --group")
    struct GroupTests {
        private let sluice = CommandLine()

        private func open(_ arguments: String...) async throws -> String {
            let outcome = await (try sluice.start(["group", "open", "nightly"] + arguments)).outcome()
            #expect(outcome.code == 0, "\(outcome.errors)")
            return try #require(outcome.output.split(separator: "\n").first.map(String.init))
        }

        @Test("open prints the id, and finds the group again by --id; show, ls and JSON show its progress")
        func opened() async throws {
            let group = try await open("--id", "day-1", "-q", "reports", "-t", "vip", "--lease", "10m")
            let again = try await sluice.json("group", "open", "nightly", "--id", "day-1", "-q", "reports")
            #expect(again["id"]?.stringValue == group && again["isNew"] == false && again["name"] == "nightly")
            let members = [
                try await sluice.enqueue("noop", "-q", "mail", "--group", "day-1"),
                try await sluice.enqueue("noop", "-q", "reports", "--group", "reports/\(group)"),
                try await sluice.enqueue("noop", "-q", "mail", "--group", String(group.suffix(8))),
            ]
            let shown = try await sluice.json("group", "show", "day-1")
            #expect(shown["name"] == "nightly" && shown["queue"] == "reports" && shown["state"] == "blocked")
            #expect(shown["isOpen"] == true && shown["total"] == 3 && shown["ended"] == 0 && shown["tags"] == ["vip"])
            #expect(shown["leaseSeconds"] == 600 && shown["states"]?["ready"] == 3, "\(shown)")
            let text = try await sluice("group", "show", group).output
            #expect(text.contains("group nightly blocked, open") && text.contains("0/3 0%"), "\(text)")
            #expect(text.contains("members    3 ready") && text.contains("closed if nothing is added for 10m"))
            let later = try await sluice.enqueue("noop")
            #expect(try await sluice.lines("group", "add", "day-1", later, members[0]) == ["\(group) has 4 members"])
            #expect(try await sluice.lines("group", "ls", "-o", "id") == [group])
            #expect(try await sluice.lines("group", "ls", "-q", "mail", "-o", "id") == [])
            let csv = try await sluice.lines("group", "ls", "-o", "csv")
            #expect(csv.count == 2 && csv[1].hasPrefix("\(group),nightly,reports,open,"), "\(csv)")
            let closed = try await sluice.lines("group", "close", "day-1")
            #expect(closed == ["\(group) closed: 4 to end"])
            #expect(try await sluice.lines("group", "close", "day-1") == ["\(group) was closed before: 4 to end"])
            #expect(try await sluice.json("group", "ls")["groups"]?.arrayValue?.first?["isOpen"] == false)
        }

        @Test("Callbacks run once at their time; a dead group finishes when its dead member is retried")
        func ends() async throws {
            let folder = try TemporaryDirectory()
            let group = try await open()
            let repaired = folder.path("repaired")
            let member = try await sluice.enqueue(
                "-q",
                "mail",
                "--attempts",
                "1",
                "--group",
                group,
                "--",
                "test",
                "-e",
                repaired
            )
            _ = try await sluice.enqueue("noop", "-q", "images", "--group", group)
            let (onSuccess, onEnd, onDeath) = (
                try await sluice.enqueue("noop", "--on-success", group),
                try await sluice.enqueue("noop", "--on-end", group),
                try await sluice.enqueue("noop", "--on-first-death", group, "-q", "default")
            )
            let wrong = try await sluice("enqueue", "noop", "--on-end", group, "-q", "mail")
            #expect(
                wrong.code == 64 && wrong.errors.contains("into the queue of the group, default"),
                "\(wrong.errors)"
            )
            let worker = try await sluice.worker("-q", "default,mail,images", "--allow", "exec")
            try await sluice.reaches("finished", onDeath)
            #expect(try await sluice.state(onEnd) == "blocked", "the group is open")
            let timedOut = try await sluice("group", "wait", group, "--timeout", "10ms")
            #expect(timedOut.code == 4 && timedOut.output.isEmpty, "\(timedOut)")
            #expect(timedOut.errors.contains("is still open") && timedOut.errors.contains("group show \(group)"))
            try await sluice.lines("group", "close", group)
            let dead = try await sluice("group", "wait", group)
            #expect(dead.code == 1 && dead.output == "\(group) dead\n", "\(dead)")
            #expect(dead.errors.contains("1 of 2 members have finished"), "\(dead.errors)")
            try await sluice.reaches("finished", onEnd)
            #expect(try await sluice.state(onSuccess) == "blocked")
            let shown = try await sluice("group", "show", group).output
            #expect(shown.contains("mail/\(member) exec dead") && shown.contains("retry \(group)"), "\(shown)")
            #expect(try await sluice.json("group", "show", group)["failedMembers"]?.arrayValue?.count == 1)
            let late = try await sluice("enqueue", "noop", "--on-end", group)
            #expect(late.code == 5 && late.errors.contains("has ended, dead"), "\(late.errors)")

            _ = try folder.file("repaired", "")
            try await sluice.lines("retry", member)
            try await sluice.reaches("finished", onSuccess)
            #expect(try await sluice("group", "wait", group).code == 0)
            let finished = try await sluice.json("group", "show", group)
            #expect(finished["state"] == "finished" && finished["failed"] == 0 && finished["fraction"] == 1)
            #expect(try await sluice.lines("group", "ls", "-o", "id") == [])
            #expect(try await sluice.lines("group", "ls", "-a", "-o", "id") == [group])
            for id in [onSuccess, onEnd, onDeath] {
                #expect(try await sluice.json("show", id)["delivery"] == 1)
            }
            let closed = try await sluice("enqueue", "noop", "--group", group)
            #expect(closed.code == 5 && closed.errors.contains("takes no more members"), "\(closed.errors)")
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        @Test("cancel ends all members, also of inner groups; it asks first, and --wait waits for running ones")
        func cancel() async throws {
            let group = try await open()
            let inner = try await open("--group", group, "-q", "mail")
            let running = try await sluice.enqueue("sleep", "seconds:=600", "-q", "mail", "--group", inner)
            let worker = try await sluice.worker("-q", "mail")
            try await sluice.reaches("executing", running)
            let waiting = try await sluice.enqueue("noop", "--group", group, "--group", inner)
            let asked = try await sluice("group", "cancel", group)
            #expect(asked.code == 5 && asked.errors.contains("2 members that have not ended"), "\(asked.errors)")
            #expect(try await sluice.state(waiting) == "ready")
            let cancelled = try await sluice("group", "cancel", group, "-y", "--wait=180s", "--reason", "wrong day")
            #expect(cancelled.code == 0, "\(cancelled.errors)")
            for id in [group, inner, running, waiting] { #expect(try await sluice.state(id) == "cancelled") }
            let shown = try await sluice("group", "show", group).output
            #expect(shown.contains(": wrong day") && shown.contains("group nightly cancelled"), "\(shown)")
            #expect(try await sluice("group", "wait", group).code == 2)
            #expect(try await sluice("group", "cancel", group).code == 0)
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        @Test("Lines of a batch enter groups; lines for a group without new members are refused beside the others")
        func batch() async throws {
            let group = try await open()
            let folder = try TemporaryDirectory()
            let lines = (1...3).map { #"{"name":"noop","queue":"q\#($0)","group":["\#(group)"]}"# }
            let file = try folder.file("batch.jsonl", lines.joined(separator: "\n"))
            try await sluice.lines("enqueue", "--batch", file, "--quiet")
            try await sluice.lines(
                "enqueue",
                "--lines",
                try folder.file("lines", "true\ntrue"),
                "--group",
                group,
                "--quiet"
            )
            #expect(try await sluice.json("group", "show", group)["total"] == 5)
            let callbacks = [
                #"{"name":"noop","onEnd":"\#(group)"}"#, #"{"name":"noop","onSuccess":"\#(group)","id":"last"}"#,
            ]
            let more = try folder.file("callbacks", callbacks.joined(separator: "\n"))
            try await sluice.lines("enqueue", "--batch", more, "-q", "mail", "--quiet")
            #expect(try await sluice.json("show", "last")["queue"] == "default")
            #expect(try await sluice.json("show", "last")["state"] == "blocked")
            let wrong = try folder.file(
                "wrong",
                lines[0] + "\n" + #"{"name":"noop","queue":"mail","onEnd":"\#(group)"}"#
            )
            let elsewhere = try await sluice("enqueue", "--batch", wrong)
            #expect(elsewhere.code == 64 && elsewhere.errors.contains("line 2: --on-end"), "\(elsewhere.errors)")
            try await sluice.lines("group", "cancel", group, "-y", "--quiet")
            let mixed = try folder.file("mixed", lines[0] + "\n" + #"{"name":"noop","queue":"q1"}"#)
            let refused = try await sluice("enqueue", "--batch", mixed)
            #expect(refused.code == 5 && refused.errors.contains("takes no more members"), "\(refused.errors)")
            #expect(refused.errors.contains("1 operation is enqueued"), "\(refused.errors)")
        }

        @Test("An id that is not a group is refused; a verb for single operations is refused with the verb to use")
        func refusals() async throws {
            let group = try await open()
            let plain = try await sluice.enqueue("noop", "--group", group)
            for arguments in [
                ["group", "show", plain], ["group", "close", plain], ["group", "add", plain, group],
                ["enqueue", "noop", "--group", plain], ["enqueue", "noop", "--on-end", plain],
            ] {
                let outcome = await (try sluice.start(arguments)).outcome()
                #expect(
                    outcome.code == 3 && outcome.errors.contains("is not a group"),
                    "\(arguments): \(outcome.errors)"
                )
            }
            let taken = try await sluice("group", "open", "nightly", "--id", plain)
            #expect(taken.code == 5 && taken.errors.contains("exists and is not a group"), "\(taken.errors)")
            let ended = try await open("--id", "day-0")
            _ = try await sluice("group", "close", ended)
            let again = try await sluice("group", "open", "nightly", "--id", "day-0")
            #expect(again.code == 5 && again.errors.contains("\(ended) is finished and takes no more members"))
            for verb in [["retry"], ["release"], ["hold"], ["rerun"], ["edit", "-p", "high"]] {
                let outcome = await (try sluice.start(verb + [group])).outcome()
                let text = "is a group: \(verb[0]) its members: sluice \(verb[0]) -w group:\(group)"
                #expect(outcome.code == 5 && outcome.errors.contains(text), "\(outcome.errors)")
            }
            let depending = try await sluice("depend", group, "--after", plain)
            #expect(depending.code == 5 && depending.errors.contains("try:  sluice group add \(group)"), "\(depending)")
            let unknown = try await sluice("group", "add", group, plain, "01ARZ3NDEKTSV4RRFFQ69G5FAV")
            #expect(unknown.code == 3 && unknown.errors.contains("01ARZ3NDEKTSV4RRFFQ69G5FAV"), "\(unknown.errors)")
            #expect(try await sluice.json("group", "show", group)["total"] == 1)
        }

        @Test(
            "retry of a dead group reruns only its failed members, also in inner groups and other queues"
        )
        func retry() async throws {
            let folder = try TemporaryDirectory()
            let group = try await open()
            let inner = try await open("--group", group, "-q", "mail")
            let repaired = folder.path("repaired")
            func failing(_ queue: String) async throws -> String {
                try await sluice.enqueue(
                    "-q",
                    queue,
                    "--attempts",
                    "1",
                    "--group",
                    "mail/\(inner)",
                    "--",
                    "test",
                    "-e",
                    repaired
                )
            }
            let failed = try await [failing("mail"), failing("images")]
            let good = try await sluice.enqueue("noop", "--group", group)
            for id in [inner, group] { try await sluice.lines("group", "close", id) }
            let worker = try await sluice.worker("-q", "default,mail,images", "--allow", "exec")
            #expect(try await sluice("group", "wait", group).code == 1)
            let shown = try await sluice("group", "show", group).output
            #expect(shown.contains("mail/\(inner) group nightly dead") && shown.contains("retry \(group)"), "\(shown)")

            _ = try folder.file("repaired", "")
            #expect(try await sluice("retry", group).output.contains("\(group) retried"))
            try await sluice.reaches("finished", group)
            for id in failed { #expect(try await sluice.json("show", id)["errors"]?.arrayValue?.count == 1) }
            #expect(try await sluice.json("show", good)["fence"] == 1)
            let again = try await sluice("retry", group)
            #expect(again.code == 5 && again.errors.contains("is a group"), "\(again)")
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        @Test("No member may depend on its group, neither directly nor through its batch or another queue")
        func cycles() async throws {
            let group = try await open()
            let waiting = try await sluice.enqueue("noop", "--after", group)
            let behind = try await sluice.enqueue("noop", "-q", "mail", "--after", "default/\(waiting)")
            let folder = try TemporaryDirectory()
            let lines = [
                #"{"name":"noop","id":"a","after":["\#(waiting)"]}"#,
                #"{"name":"noop","id":"b","after":["a"],"group":"\#(group)"}"#,
            ]
            let batch = try folder.file("batch.jsonl", lines.joined(separator: "\n"))
            for (arguments, text) in [
                (["enqueue", "noop", "--after", group, "--group", group], "cannot be a member of group"),
                (["enqueue", "noop", "--after", "mail/\(behind)", "--group", group], "which waits for that group"),
                (["enqueue", "--batch", batch], "which waits for that group"),
                (["group", "add", group, waiting], "\(waiting) waits for group"),
                (["group", "add", group, "mail/\(behind)"], "\(behind) waits for group"),
            ] {
                let refused = await (try sluice.start(arguments)).outcome()
                #expect(refused.code == 64 && refused.errors.contains(text), "\(arguments): \(refused.errors)")
            }
            #expect(try await sluice.json("group", "show", group)["total"] == 0)
            let free = try await sluice.enqueue("noop")
            try await sluice.lines("enqueue", "noop", "--after", free, "--group", group, "--quiet")
            #expect(try await sluice.json("group", "show", group)["total"] == 1)
        }
    }
}
