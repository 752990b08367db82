import Operations
import TestSupport
import Testing

extension CommandLineTests {
    @Suite("Completions")
    struct CompletionTests {
        private let sluice = CommandLine()

        @Test("Completions come from Redis; without a server nothing is completed and no server starts")
        func values() async throws {
            let id = try await sluice.enqueue("noop", "-q", "mail", "-t", "vip")
            try await sluice.lines("schedule", "add", "nightly", "noop", "--every", "1h", "-q", "reports")
            let group = try #require(try await sluice.lines("group", "open", "weekly").first)
            for (words, wanted) in [
                (["group", "close", ""], "\(group)\topen weekly"),
                (["enqueue", "noop", "--group", String(group.prefix(12))], "\(group)\topen weekly"),
                (["schedule", "show", "n"], "nightly"), (["cancel", "--queue", "m"], "mail"),
                (["list", "tag:"], "tag:vip"), (["enqueue", "no"], "noop"),
                (["show", String(id.prefix(10))], "\(id)\tready noop"),
            ] {
                let outcome = await (try sluice.start(["complete", "--connect-timeout", "60s", "--"] + words)).outcome()
                #expect(outcome.output == wanted + "\n", "\(words): \(outcome.errors)")
            }
            #expect(try await sluice.lines("complete", "--", "-N", "elsewhere", "cancel", "") == [])
            let gone = ["SLUICE_REDIS_URL": "redis://127.0.0.1:1"]
            let none = await (try sluice.start(["complete", "--", "cancel", ""], environment: gone)).outcome()
            #expect(none.code == 0 && none.output.isEmpty)
        }

        @Test("bash completes with the script, also after the colon of a field")
        func bash() async throws {
            let script = try await sluice.lines("completions", "bash").joined(separator: "\n")
            for (line, wanted) in [
                ("que", "queue"), ("list state:de", "dead"), ("list -o jsonl --sc", "--scan-limit"),
            ] {
                let test = """
                    \(script)
                    compopt() { :; }
                    COMP_LINE='sluice \(line)'; COMP_POINT=${#COMP_LINE}
                    sluice() { "$SLUICE" "$@"; }
                    _sluice; printf '%s\\n' "${COMPREPLY[@]}"
                    """
                let path = Program.directory.appendingPathComponent("sluice").path
                let outcome = try await Program.run("/bin/bash", ["-c", test], environment: ["SLUICE": path])
                #expect(outcome.output == wanted + "\n", "\(line): \(outcome.errors)")
            }
        }
    }
}
