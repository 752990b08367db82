import Foundation
import Operations
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("programs for names")
    struct HandlerTests {
        private let sluice = CommandLine()
        private let folder: TemporaryDirectory

        init() throws { folder = try TemporaryDirectory() }

        private func script(_ name: String, _ text: String, mode: Int = 0o755) throws -> String {
            try folder.file(name, text, mode: mode)
        }

        @Test("A worker runs a program for a name, stores its result, and takes it down when killed")
        func runs() async throws {
            let add = try script(
                "add",
                """
                #!/usr/bin/env python3
                import json, sys
                print(json.dumps(sum(json.load(sys.stdin)["numbers"])))
                """
            )
            let stay = try script("stay", "#!/bin/sh\nsetsid sleep 600 & echo $! >&2\nsleep 600\n")
            let worker = try await sluice.worker("--handler", "add=\(add)", "--handler=stay=\(stay)", "-c", "2")
            #expect(worker.errors.contains("add") && worker.errors.contains("stay"))
            let id = try await sluice.enqueue("add", "numbers:=[1,2,3]")
            try await sluice.reaches("finished", id)
            #expect(try await sluice.lines("result", id) == ["6"])
            let second = try await sluice.enqueue("stay")
            try await eventually("it says who it is") { await !((try? sluice.lines("logs", second)) ?? []).isEmpty }
            let child = try #require(Int32(try await sluice.lines("logs", second)[0]))
            #expect(kill(child, 0) == 0)
            worker.send(SIGKILL)
            #expect(await worker.outcome().code == 137)
            try await eventually("the child is gone") { kill(child, 0) != 0 }
        }

        @Test("A program without a valid result is dead, and the record gives the reason")
        func dead() async throws {
            let bad = try script("bad", "#!/bin/sh\necho oops\n")
            let worker = try await sluice.worker("--handler", "bad=\(bad)")
            let id = try await sluice.enqueue("bad")
            try await sluice.reaches("dead", id)
            let error = try await sluice.json("show", id)["error"]
            #expect(error?["type"]?.stringValue == "result" && error?["verdict"]?.stringValue == "final")
            #expect(try await sluice.lines("show", id).contains { $0.contains("the error is not retryable") })
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        @Test("An invalid handler is refused before the worker starts")
        func refused() async throws {
            let good = try script("good", "#!/bin/sh\n")
            let flat = try script("flat", "#!/bin/sh\n", mode: 0o644)
            let wrong: [(code: Int32, words: [String], message: String)] = [
                (64, ["mail"], #""mail" has no program"#), (64, ["mail="], #""mail=" has no program"#),
                (64, ["=\(good)"], #""" is not an operation name"#),
                (64, ["a b=\(good)"], #""a b" is not an operation name"#),
                (64, ["exec=\(good)"], #""exec" is a built-in"#), (64, ["noop=\(good)"], #""noop" is a built-in"#),
                (64, ["a=\(good)", "a=\(good)"], #""a" is given twice"#),
                (78, ["a=\(folder.path("missing"))"], "does not exist"), (78, ["a=\(flat)"], "is not executable"),
                (78, ["a=\(folder.url.path)"], "is a folder"), (78, ["a=no-such-program"], "in PATH"),
            ]
            for (code, words, message) in wrong {
                let outcome = await (try sluice.start(["worker", "--burst"] + words.flatMap { ["--handler", $0] }))
                    .outcome()
                #expect(outcome.code == code, "\(words): \(outcome.errors)")
                #expect(outcome.errors.contains(message), "\(words): \(outcome.errors)")
                #expect(outcome.errors.contains("try:"))
            }
            #expect(try await sluice("worker", "--burst", "--handler", "a=sh").code == 0)
        }
    }
}
