import ArgumentParser
import Foundation
import Operations
import TestSupport
import Testing

@testable import SluiceCLI
@testable import SluiceOperator

/// The commands of the program, found in its own tree. A new command needs an example here, and all rules apply to it.
private struct Commands {
    /// The words of each command, and its type.
    static let all: [(path: String, type: any Verb.Type)] = below([], RootCommand.self)

    private static func below(_ path: [String], _ command: any ParsableCommand.Type) -> [(String, any Verb.Type)] {
        let commands = command.configuration.subcommands
        if commands.isEmpty, let verb = command as? any Verb.Type { return [(path.joined(separator: " "), verb)] }
        return commands.flatMap { below(path + [$0.configuration.commandName ?? ""], $0) }
    }

    /// The words after each command. The tests replace words in capitals.
    static let examples: [String: [String]] = [
        "worker": ["--burst"], "enqueue": ["noop"], "cancel": ["WAITING"], "cancels ls": [], "cancels rm": ["--all"],
        "wait": ["DONE"], "show": ["DONE"], "result": ["DONE"], "logs": ["LOGGED"], "list": [], "explain": ["WAITING"],
        "graph": ["DONE"], "depend": ["WAITING", "--after", "DONE"], "errors": [], "stats": [], "top names": [],
        "top queues": [], "retry": ["DEAD"], "rerun": ["DONE"], "edit": ["WAITING", "-p", "high"], "hold": ["WAITING"],
        "release": ["HELD"], "rm": ["WAITING"], "queue ls": [], "queue show": ["default"], "queue pause": ["default"],
        "queue resume": ["default"], "queue limit": ["default", "concurrency=9"], "queue purge": ["empty", "-y"],
        "group open": ["part"], "group ls": [], "group show": ["GROUP"], "group wait": ["ENDED"],
        "group add": ["GROUP", "DONE"], "group close": ["GROUP"], "group cancel": ["GROUP", "-y"],
        "schedule add": ["hourly", "noop", "--every", "1h"], "schedule ls": [], "schedule show": ["nightly"],
        "schedule rm": ["SCHEDULE"], "schedule pause": ["SCHEDULE"], "schedule resume": ["PAUSED"],
        "schedule run": ["nightly"], "schedule preview": ["nightly"], "workers ls": [], "workers show": ["w1"],
        "workers quiet": ["w1"], "workers resume": ["w1"], "workers stop": ["STOPPED"], "workers slots": ["2", "w1"],
        "events": ["--since", "1h", "--no-follow"], "stat": ["-n", "1"], "monitor": ["--once"], "doctor": ["--fix"],
        "redis status": [], "redis start": [], "redis stop": ["-y"], "redis script": [], "config show": [],
        "config acl": [], "config keys": ["FILE"], "man": [], "completions": ["bash"], "complete": ["--", "li"],
    ]
}

extension CommandLineTests {
    @Suite("every command")
    struct EveryCommandTests {
        private let sluice = CommandLine()

        @Test("Every command has an example")
        func examples() {
            #expect(Set(Commands.all.map(\.path)) == Set(Commands.examples.keys))
        }

        @Test("Every command refuses an unsupported format with 64 and names its formats, before anything else")
        func refused() async throws {
            let nowhere = ["SLUICE_REDIS_URL": "redis://127.0.0.1:1", "SLUICE_CONNECT_TIMEOUT": "10ms"]
            for (path, type) in Commands.all {
                let missing = OutputFormat.allCases.filter { !$0.isText && !type.formats.contains($0) }
                guard let format = missing.first else { continue }
                let words = path.split(separator: " ").map(String.init) + ["-o", format.rawValue]
                let example = Commands.examples[path] ?? []
                let outcome = await (try sluice.start(words + example, environment: nowhere)).outcome()
                #expect(outcome.code == 64, "\(path) -o \(format): \(outcome)")
                #expect(outcome.errors.contains("does not print \(format.rawValue)"), "\(outcome.errors)")
                for known in type.formats { #expect(outcome.errors.contains(known.rawValue), "\(outcome.errors)") }
                #expect(outcome.output.isEmpty, "\(path) -o \(format): \(outcome.output)")
            }
        }

        @Test("A command prints text if the environment asks for an unsupported format")
        func preferred() async throws {
            let outcome = try await sluice("redis", "script", environment: ["SLUICE_OUTPUT": "csv"])
            #expect(outcome.code == 0 && outcome.output.contains("enqueue"), "\(outcome)")
        }
    }
}

// MARK: - With something to show

/// A namespace in which each example finds what it needs.
private struct Site {
    let sluice: CommandLine
    let folder: TemporaryDirectory
    let worker: TestSupport.Program
    private let done: String
    private let dead: String

    init(_ sluice: CommandLine) async throws {
        self.sluice = sluice
        folder = try TemporaryDirectory()
        done = try await sluice.enqueue("exec", "argv:=[\"echo\",\"hello\"]")
        dead = try await sluice.enqueue("fail", "retryable:=false")
        let runner = await (try sluice.start(["worker", "--burst", "--allow", "exec", "--quiet"])).outcome()
        #expect(runner.code == 0, "\(runner.errors)")
        try await sluice.lines("queue", "limit", "empty", "concurrency=1", "--quiet")
        try await sluice.lines("schedule", "add", "nightly", "noop", "--cron", "@daily", "--quiet")
        try await sluice.lines("cancel", "-t", "unwanted", "--until", "10h", "-y", "--quiet")
        worker = try await Self.worker("w1", sluice)
    }

    private static func worker(
        _ name: String,
        _ sluice: CommandLine,
        lease: String = "60s"
    ) async throws -> TestSupport.Program {
        let worker = try sluice.start(["worker", "--name", name, "-q", "other", "--lease", lease])
        try await eventually("\(name) is known") {
            try await sluice.snapshots().flatMap(\.workers).contains { WorkerInfo($0.info)?.name == name }
        }
        return worker
    }

    /// Returns the words of an example, with real ids.
    func words(_ path: String) async throws -> [String] {
        var words: [String] = path.split(separator: " ").map(String.init)
        for word in Commands.examples[path] ?? [] { words.append(try await value(word)) }
        return words
    }

    private func value(_ word: String) async throws -> String {
        switch word {
        case "DONE", "LOGGED": return done
        case "DEAD": return dead
        case "WAITING": return try await sluice.enqueue("sleep", "seconds:=1")
        case "HELD":
            let id = try await sluice.enqueue("sleep", "seconds:=1")
            try await sluice.lines("hold", id)
            return id
        case "GROUP": return try #require(try await sluice.lines("group", "open", "import").first)
        case "ENDED":
            let id = try #require(try await sluice.lines("group", "open", "import").first)
            try await sluice.lines("group", "close", id)
            return id
        case "STOPPED":
            let name = "w\(UUID().uuidString)"
            // The process is killed with its value, here. The command finds the name as long as the lease lasts.
            _ = try await Self.worker(name, sluice, lease: "10m")
            return name
        case "SCHEDULE", "PAUSED":
            let id = "s\(UUID().uuidString)"
            try await sluice.lines("schedule", "add", id, "noop", "--every", "1h", "--quiet")
            if word == "PAUSED" { try await sluice.lines("schedule", "pause", id) }
            return id
        case "FILE": return folder.path("\(UUID().uuidString).keys")
        default: return word
        }
    }

    /// Runs a command with a separate state folder, and so with a separate private server.
    func run(_ words: [String], _ environment: [String: String] = [:]) async throws -> TestSupport.Program.Outcome {
        let state = ["SLUICE_STATE_DIR": folder.path("state")]
        return await (try sluice.start(words, environment: state.merging(environment) { $1 })).outcome()
    }

    func end() async {
        worker.send(SIGTERM)
        _ = await worker.outcome()
    }
}

extension CommandLineTests.EveryCommandTests {
    /// Returns what breaks the format in an output, or nil if the output is valid.
    private func mistake(in output: String, as format: OutputFormat) -> String? {
        let lines = output.split(separator: "\n").map(String.init)
        guard !lines.isEmpty else { return "nothing" }
        switch format {
        case .json: return (try? JSONValue(parsing: output)) == nil ? "no JSON document" : nil
        case .jsonl: return lines.first { (try? JSONValue(parsing: $0)) == nil }
        case .csv:
            let header = lines[0].split(separator: ",", omittingEmptySubsequences: false).count
            guard header > 1, !lines[0].contains(where: { $0 == "\"" || $0 == "{" }) else { return lines[0] }
            return lines.first { columns($0) != header }
        case .id: return lines.first { $0.contains { " {\"\t".contains($0) } }
        case .table, .wide: return nil
        }
    }

    private func columns(_ line: String) -> Int {
        var (count, isQuoted) = (1, false)
        for character in line {
            if character == "\"" { isQuoted.toggle() } else if character == ",", !isQuoted { count += 1 }
        }
        return count
    }

    @Test("Every command prints each of its formats correctly")
    func formats() async throws {
        let site = try await Site(CommandLine())
        for (path, type) in Commands.all {
            for format in type.formats.sorted(by: { $0.rawValue < $1.rawValue }) {
                var words = try await site.words(path)
                if path == "retry", let last = words.last { _ = try await site.run(["cancel", last, "--quiet"]) }
                words += ["-o", format.rawValue, "--quiet"]
                let outcome = try await site.run(words)
                // doctor finds nothing here, and a worker prints only errors.
                if ["doctor", "worker"].contains(path), outcome.output.isEmpty { continue }
                let problem = mistake(in: outcome.output, as: format)
                #expect(problem == nil, "\(words): \(outcome)")
            }
        }
        await site.end()
    }

    /// Commands that ask only if they have found something
    private static let asksLater: Set = ["doctor"]

    @Test("With SLUICE_CONFIRM=always, every command that changes something asks, and no other does")
    func confirmed() async throws {
        let site = try await Site(CommandLine())
        // `redis start` is left out: the test would have to stop the server that it starts.
        for (path, type) in Commands.all where path != "redis start" && !Self.asksLater.contains(path) {
            let words = try await site.words(path).filter { $0 != "-y" }
            let outcome = try await site.run(words + ["--quiet"], ["SLUICE_CONFIRM": "always"])
            let isAsked = outcome.code == 5 && outcome.errors.contains("not confirmed: ")
            #expect(isAsked == (type.effect == .changes), "\(words): \(outcome)")
            guard isAsked else { continue }
            #expect(outcome.errors.contains(" -y"), "\(outcome.errors)")
            let assured = try await site.run(words + ["-y", "--quiet"], ["SLUICE_CONFIRM": "always"])
            #expect(!assured.errors.contains("not confirmed"), "\(words): \(assured)")
        }
        await site.end()
    }
}
