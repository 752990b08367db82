import Foundation
import Operations
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("options of programs")
    struct ProgramOptionsTests {
        private let sluice = CommandLine()
        private let folder: TemporaryDirectory

        init() throws { folder = try TemporaryDirectory() }

        private func arguments(_ id: String) async throws -> JSONValue {
            let envelope = try OperationEnvelope(try #require(try await sluice.detail(id)).record.envelope)
            return try JSONValue(parsing: envelope.arguments)
        }

        @Test("A program gets folder, variables and input, and the worker's variables that --pass-env names")
        func surroundings() async throws {
            let input = try folder.file("input", "line 1\nünï 2\n")
            let show = "pwd; echo $COLOR $HERE [$DATABASE_URL] [$AWS_ID] [$SECRET]; cat"
            let handler = try folder.file(
                "handler",
                "#!/bin/sh\necho \"\\\"[$DATABASE_URL] [$AWS_ID] [$SECRET]\\\"\"\n",
                mode: 0o755
            )
            let worker = try await sluice.worker(
                "--allow",
                "exec",
                "--handler",
                "show=\(handler)",
                "--pass-env",
                "DATABASE_URL,AWS_*",
                "--pass-env",
                "NOT_THERE",
                environment: ["DATABASE_URL": "db", "AWS_ID": "aws", "SECRET": "s"]
            )
            #expect(worker.errors.contains("--pass-env NOT_THERE"))
            let outcome = await
                (try sluice.start(
                    [
                        "enqueue", "--follow", "--cwd", "/usr", "--env", "COLOR=red", "--env", "HERE", "--stdin", input,
                        "--",
                        "sh", "-c", show,
                    ],
                    environment: ["HERE": "from here"]
                ))
                .outcome()
            #expect(outcome.output == "/usr\nred from here [db] [aws] []\nline 1\nünï 2\n", "\(outcome.errors)")
            let id = try await sluice.enqueue("show")
            try await sluice.reaches("finished", id)
            #expect(try await sluice.lines("result", id) == [#""[db] [aws] []""#])
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
        }

        @Test("--stdin - passes stdin on; unread input is reported once and never waited for")
        func input() async throws {
            let program = Program.directory.appendingPathComponent("sluice").path
            let url = TestUsers.url(sluice.endpoint.description, as: .producer)
            let command = "\(program) --redis \(url) -N \(sluice.namespace) enqueue -o id"
            func shell(_ script: String) async throws -> Program.Outcome {
                try await Program.run("/bin/sh", ["-c", script], environment: ["NO_COLOR": "1"])
            }
            let passed = try await shell("printf 'a\\nb' | \(command) --quiet --stdin - -- cat")
            let id = String(passed.output.dropLast())
            #expect(try await arguments(id)["stdin"]?.stringValue == "a\nb", "\(passed.errors)")
            let text = try folder.file("text", "data\n")
            for given in ["<\(text)", "<<E\ndata\nE\n"] {
                let lost = try await shell("\(command) -- cat \(given)")
                #expect(lost.code == 0)
                #expect(lost.errors.components(separatedBy: "--stdin -").count == 2, "\(given): \(lost.errors)")
                #expect(try await arguments(String(lost.output.dropLast()))["stdin"] == nil)
            }
            let fifo = folder.path("idle")
            // The pipe of the third script has a writer that writes nothing.
            for script in [
                "\(command) -- cat </dev/null", "\(command) -- cat <&-",
                "mkfifo \(fifo); exec 9<>\(fifo); \(command) -- cat <&9", "\(command) --quiet -- cat <\(text)",
            ] {
                let outcome = try await shell(script)
                #expect(outcome.code == 0 && !outcome.errors.contains("stdin"), "\(script): \(outcome.errors)")
            }
            let empty = try await shell("\(command) --quiet --stdin - -- cat </dev/null")
            #expect(try await arguments(String(empty.output.dropLast()))["stdin"]?.stringValue == "")
        }

        @Test("--lines runs one command per line; a wrong line is named, and nothing is enqueued")
        func lines() async throws {
            let worker = try await sluice.worker("--allow", "exec")
            let jobs = try folder.file("jobs", "# three\n\ntouch 'a b'\ntouch \"c\" $HOME\n")
            let outcome = try await sluice(
                "enqueue",
                "--lines",
                jobs,
                "--wait=180s",
                "--cwd",
                folder.url.path,
                "-t",
                "t"
            )
            #expect(outcome.code == 0, "\(outcome.errors)")
            let made = try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted()
            #expect(made == ["$HOME", "a b", "c", "jobs"])
            worker.send(SIGTERM)
            #expect(await worker.outcome().code == 0)
            let before = try await sluice.total("enqueued")
            let wrong = try folder.file("wrong", "true\ntrue 'x\n")
            let refused = try await sluice("enqueue", "--lines", wrong)
            #expect(refused.code == 64)
            #expect(refused.errors.contains("wrong:2: column 6: the quote ' is not closed; nothing was enqueued"))
            #expect(try await sluice.total("enqueued") == before)
            let dry = await (try Program.run("sluice", ["enqueue", "--lines", "-", "--dry-run"], input: "a\nb\n"))
            #expect(dry.code == 0 && dry.errors.contains("2 operations"), "\(dry.errors)")
        }

        @Test(
            "Options that exclude each other are refused, and the error names a command that works",
            arguments: [
                (["enqueue", "noop", "--cwd", "/"], "--cwd needs a program after --"),
                (["enqueue", "exec", "--args", #"{"argv":["a"]}"#, "--env", "A=b"], "--env needs a program after --"),
                (["enqueue", "--batch", "-", "--stdin", "-"], "--stdin needs a program after --"),
                (["enqueue", "--lines", "-", "--stdin", "-"], "both read stdin"),
                (["enqueue", "--lines", "-", "--batch", "-"], "--lines reads all commands from the file"),
                (["enqueue", "--lines", "-", "--", "true"], "--lines reads all commands from the file"),
                (["enqueue", "--lines", "-", "--id", "x"], "--id names one operation"),
                (["enqueue", "--cwd", "/a", "cwd=/b", "--", "true"], "are the same"),
                (["worker", "--pass-env", "A=b"], "--pass-env"), (["worker", "--pass-env", "A,,B"], "--pass-env"),
            ] as [([String], String)]
        )
        func refused(arguments: [String], part: String) async throws {
            let outcome = await (try sluice.start(arguments)).outcome()
            #expect(outcome.code == 64 && outcome.errors.contains(part), "\(outcome.errors)")
            #expect(outcome.errors.split(separator: "\n").last?.hasPrefix("  try:  ") == true, "\(outcome.errors)")
        }

        @Test("help built-ins names every argument of every built-in, and the variables that programs get")
        func help() async throws {
            let text = try await sluice.lines("help", "built-ins").joined(separator: "\n")
            for word in [
                "seconds", "message", "retryable", "argv", "cwd", "env", "stdin", "method", "headers", "json", "body",
                "timeout", "expect", "url", "path", "PATH", "LC_*", "--pass-env", "SLUICE_CHECKPOINT",
            ] {
                #expect(text.contains(word), "\(word)")
            }
            #expect(try await sluice.lines("--help").contains { $0.contains("help built-ins") })
        }

        @Test("show hides the password of a URL, and the operation keeps it")
        func passwords() async throws {
            let id = try await sluice.enqueue("http", "url=http://user:sesame@h/", "--in", "1h")
            for words in [["show", id], ["show", id, "-o", "json"], ["list", "-o", "json"], ["list", "-o", "wide"]] {
                let outcome = await (try sluice.start(words)).outcome()
                #expect(outcome.code == 0 && !outcome.output.contains("sesame"), "\(outcome.output)")
            }
            #expect(try await sluice.lines("show", id).contains { $0.contains("http://user:***@h/") })
            #expect(try await arguments(id)["url"]?.stringValue == "http://user:sesame@h/")
            let typed = await (try sluice.start(["enqueue", "http", "http://user:sesame@h/"])).outcome()
            #expect(typed.code == 64 && !typed.errors.contains("sesame"), "\(typed.errors)")
        }
    }
}
