import Foundation
import RedisClient
import TestSupport
import Testing

@Suite("Signed and encrypted operations", .fewAtOnce, .timeLimit(.minutes(60)))
struct KeysTests {
    private let installation: Installation
    /// The keys file of producers and workers
    private let keys: String
    private static let words = "a-secret-argument"

    init() async throws {
        installation = try Installation()
        keys = installation.folder.path("keys")
        try await installation.succeed("config", "keys", keys, "--encrypt", "--id", "k1")
    }

    private func json(_ arguments: String...) async throws -> [String: Any] {
        let outcome = try await Program.run(
            "sluice",
            arguments + ["-o", "json"],
            environment: installation.environment
        )
        return try #require(try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any])
    }

    private func dead(_ id: String, is type: String) async throws {
        let shown = try await installation.show(id)
        #expect(shown.state == "dead" && shown.errors.last?.type == type && shown.attempt == 1, "\(shown)")
    }

    @Test("An encrypted operation runs with clear arguments; Redis and clients without keys never see them")
    func encrypted() async throws {
        let id = try await installation.enqueue("--keys-file", keys, "--", "printf", Self.words)
        let record = "{\(installation.namespace)/default}:\(id)"
        let stored = try installation.redis.ask(RedisCommand("GET", record))[0].expectString()
        #expect(!stored.contains(Self.words) && stored.contains(#""enc":"k1","sig":"k1:"#))
        #expect(try await installation.succeed("show", id).contains(#"encrypted with the key "k1""#))
        let hidden = try await json("show", id)
        #expect(hidden["arguments"] is NSNull && hidden["encryptedWith"] as? String == "k1")
        let clear = try await installation.succeed("show", id, "--keys-file", keys)
        #expect(clear.contains(Self.words) && clear.contains(#"by the key "k1", accepted"#))
        let worker = try installation.worker(more: "--keys-file", keys, "--burst", "-v")
        let outcome = await worker.outcome()
        #expect(outcome.code == 0)
        #expect(try await installation.show(id).state == "finished")
        #expect(try await installation.succeed("logs", id).contains(Self.words))
        let secrets = try String(contentsOfFile: keys, encoding: .utf8).split(whereSeparator: \.isWhitespace)
        for secret in secrets.filter({ $0.utf8.count > 40 }) { #expect(!outcome.errors.contains(secret)) }
    }

    @Test("A worker with keys never runs an unsigned or forged operation: it is dead with the reason")
    func quarantine() async throws {
        let unsigned = try await installation.enqueue("--", "touch", installation.folder.path("ran"))
        let bulk = try await installation.enqueue(
            batch: #"{"name":"exec","args":{"argv":["touch","\#(installation.folder.path("ran"))"]},"track":false}"#,
            count: 3
        )
        let forged = try await installation.enqueue("--keys-file", keys, "--", "touch", installation.folder.path("ran"))
        let record = "{\(installation.namespace)/default}:\(forged)"
        let stored = try installation.redis.ask(RedisCommand("GET", record))[0].expectString()
        let changed = stored.replacing(#""enc":"k1""#, with: #""enc":"k2""#)
        try installation.redis.ask(RedisCommand("SET", record, changed))[0].expectSuccess()
        let good = try await installation.enqueue("--keys-file", keys, "--", "true")
        let worker = try installation.worker(more: "--keys-file", keys, "--burst")
        let outcome = await worker.outcome()
        #expect(outcome.code == 0)
        try await dead(unsigned, is: "unsigned")
        for id in bulk { try await dead(id, is: "unsigned") }
        try await dead(forged, is: "signature")
        #expect(try await installation.show(good).state == "finished")
        #expect(!FileManager.default.fileExists(atPath: installation.folder.path("ran")))
        #expect(outcome.errors.contains("quarantine"))
        let shown = try await json("show", unsigned, "--keys-file", keys)
        #expect((shown["quarantine"] as? [String: Any])?["type"] as? String == "unsigned")
    }

    @Test("A worker without keys runs signed operations; an encrypted one is dead until it is retried with the key")
    func withoutKeys() async throws {
        let signing = installation.folder.path("signing")
        try await installation.succeed("config", "keys", signing, "--id", "k2")
        let signed = try await installation.enqueue("--keys-file", signing, "--", "true")
        let encrypted = try await installation.enqueue("--keys-file", keys, "--", "true")
        #expect(await (try installation.worker(more: "--burst")).outcome().code == 0)
        #expect(try await installation.show(signed).state == "finished")
        try await dead(encrypted, is: "key")
        try await installation.succeed("retry", encrypted)
        #expect(await (try installation.worker(more: "--burst", "--keys-file", keys)).outcome().code == 0)
        #expect(try await installation.show(encrypted).state == "finished")
    }

    @Test("Keys that others may read, invalid keys and keys given twice are refused first, with exit 78")
    func refused() async throws {
        let text = try String(contentsOfFile: keys, encoding: .utf8)
        var environment = installation.environment
        environment["SLUICE_KEYS"] = "sign k1 " + text.split(separator: " ")[2].dropLast(12)
        environment["SLUICE_KEYS_FILE"] = keys
        for wrong in [["SLUICE_KEYS"], ["SLUICE_KEYS", "SLUICE_KEYS_FILE"]] {
            let chosen = environment.filter { !$0.key.hasPrefix("SLUICE_KEYS") || wrong.contains($0.key) }
            let outcome = try await Program.run("sluice", ["enqueue", "noop"], environment: chosen)
            #expect(outcome.code == 78 && !outcome.errors.contains(text.split(separator: " ")[2].prefix(16)))
        }
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: keys)
        for arguments in [["worker", "--burst"], ["enqueue", "noop"], ["list"]] {
            let exposed = try await Program.run(
                "sluice",
                arguments + ["--keys-file", keys],
                environment: installation.environment
            )
            #expect(exposed.code == 78 && exposed.errors.contains("640") && exposed.errors.contains("chmod 600"))
        }
        #expect(try await installation.succeed("list", "-o", "id").isEmpty)
        #expect(try await installation.sluice("config", "keys", keys).code == 5)
        #expect(try String(contentsOfFile: keys, encoding: .utf8) == text)
    }

    @Test("Keys in the environment sign and verify, and programs of a worker do not inherit them")
    func environment() async throws {
        let text = try String(contentsOfFile: keys, encoding: .utf8)
        var environment = installation.environment
        environment["SLUICE_KEYS"] = text
        let made = try await Program.run(
            "sluice",
            ["enqueue", "-o", "id", "--quiet", "--", "env"],
            environment: environment
        )
        let id = made.output.trimmingCharacters(in: .whitespacesAndNewlines)
        let worker = try await Program.run(
            "sluice",
            ["worker", "--allow", "exec", "--burst"],
            environment: environment
        )
        #expect(worker.code == 0)
        #expect(try await installation.show(id).state == "finished")
        let log = try await installation.succeed("logs", id)
        #expect(log.contains("PATH=") && !log.contains("SLUICE_KEYS"))
        let shown = try await Program.run("sluice", ["config", "show"], environment: environment)
        #expect(shown.output.contains("sign k1; encrypt k1"))
        for word in text.split(whereSeparator: \.isWhitespace) where word.utf8.count > 40 {
            #expect(!shown.output.contains(word))
        }
    }

    @Test("No command shows redacted values, though the operation has them")
    func redacted() async throws {
        let arguments = #"{"argv":["printf","shown"],"env":{"TOKEN":"hidden","PLAIN":"plain"}}"#
        let id = try await installation.enqueue("exec", "--args", arguments)
        for more in [["-o", "json"], ["-o", "jsonl"], []] {
            for command in [["show", id], ["list"]] {
                let outcome = try await Program.run(
                    "sluice",
                    command + more + ["--redact", "args.env.TOKEN"],
                    environment: installation.environment
                )
                #expect(outcome.code == 0 && !outcome.output.contains("hidden"))
                #expect(outcome.output.contains("plain") || (command[0] == "list" && more.isEmpty))
            }
        }
        let all = try await installation.succeed("show", id, "--hide-args")
        #expect(!all.contains("hidden") && !all.contains("plain") && all.contains("***"))
        #expect(try await installation.sluice("show", id, "--redact", "password").code == 64)
        #expect(try await installation.succeed("show", id).contains("hidden"))
    }
}
