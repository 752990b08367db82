import ArgumentParser
import Foundation
import Operations
import Testing

@testable import SluiceCLI

@Suite(.timeLimit(.minutes(60)))
struct ConfigurationTests {
    private func files(
        _ text: String,
        profile: String? = nil,
        _ environment: [String: String] = [:]
    ) throws -> ConfigurationFiles {
        try withFile(text) { try ConfigurationFiles(file: $0, profile: profile, environment: environment) }
    }

    private func withFile<Result>(_ text: String, _ body: (String) throws -> Result) throws -> Result {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try body(path)
    }

    private static let text = """
        # mine
        profile = "dev"   # the default
        output = 'jsonl'
        [profile.dev]
        namespace = "dev"
        [profile.prod]
        namespace = "shop"
        redis = "redis://h:1/2"
        read_only = true
        confirm = "always"
        """

    @Test("The profile of the flag overrides the environment's, which overrides the file's")
    func profiles() throws {
        #expect(try files(Self.text)[.namespace]?.text == "dev")
        #expect(try files(Self.text, ["SLUICE_PROFILE": "prod"])[.namespace]?.text == "shop")
        let prod = try files(Self.text, profile: "prod", ["SLUICE_PROFILE": "dev"])
        #expect(prod.profile == "prod" && prod[.redis]?.text == "redis://h:1/2" && prod[.output]?.text == "jsonl")
        #expect(prod[.namespace]?.origin.hasSuffix("[profile.prod]") == true)
        #expect(try ConfigurationFiles(file: nil, profile: nil, environment: [:]).profile == nil)
    }

    @Test("A flag overrides the environment, the environment overrides a file, and a file overrides the default")
    func precedence() throws {
        try withFile(Self.text) { path in
            let settings = { (words: [String], environment: [String: String]) in
                try Settings(try GlobalOptions.parse(["--config", path] + words), environment: environment)
            }
            let prod = try settings(["--profile", "prod"], [:])
            #expect(prod.namespace.content == "shop" && prod.readOnly.content && prod.confirmsAlways.content)
            #expect(prod.namespace.origin == .file("\(path) [profile.prod]"))
            #expect(prod.output.content == .jsonl && prod.redis.content?.description.contains("h:1") == true)
            let environment = ["SLUICE_NAMESPACE": "env", "SLUICE_READ_ONLY": "0", "SLUICE_REDIS_URL": "redis://e"]
            let strong = try settings(["--profile", "prod"], environment)
            #expect(strong.namespace.content == "env" && !strong.readOnly.content)
            #expect(strong.redis.origin == .environment("SLUICE_REDIS_URL"))
            #expect(try settings(["-N", "flag"], environment).namespace.content == "flag")
            #expect(try settings([], [:]).time.origin == .builtIn)
        }
    }

    @Test(
        "An invalid file is refused with the line or with a suggestion",
        arguments: [
            ("namespace", ":1: "), ("redis = \"open", ":1: "), ("[profile.x\n", ":1: "), ("a = \"b\" c", ":1: "),
            ("namespce = \"x\"", "did you mean \"namespace\"?"),
            ("profile = \"prd\"\n[profile.prod]", "did you mean \"prod\"?"),
            ("time = \"iso\"\n\n[bogus]\nnamespace = \"x\"", ":3: unknown section \"[bogus]\""),
            ("[profle.prod]", ":1: unknown section \"[profle.prod]\"; did you mean \"[profile.prod]\"?"),
            ("[profile.]", ":1: unknown section"), ("[profile]", "did you mean \"[profile.NAME]\"?"),
            ("time = \"iso\"\nnamespce = \"x\"", ":2: unknown setting \"namespce\""),
            ("time = \"iso\"\ntime = \"unix\"", ":2: \"time\" is already in line 1"),
            ("[profile.a]\n[profile.b]\n[profile.a]", ":3: \"[profile.a]\" is already in line 1"),
        ]
    )
    func mistakes(text: String, part: String) {
        let error = #expect(throws: CLIError.self) { try files(text) }
        #expect(error?.status == .badConfiguration && error?.message.contains(part) == true, "\(error?.message ?? "")")
    }

    @Test("A project's file has no profiles; the error names the right file and how to choose a profile")
    func projects() throws {
        let text = try ConfigurationText(parsing: "time = \"iso\"\n[profile.prod]\n", file: "f")
        let error = #expect(throws: CLIError.self) { try text.checkSections("f", ofProject: true) }
        #expect(error?.status == .badConfiguration)
        #expect(error?.message == "f:2: a project's file cannot have profiles: [profile.prod]")
        #expect(error?.fix?.contains("profile = \"prod\"") == true)
        try text.checkSections("f", ofProject: false)
        let bogus = try ConfigurationText(parsing: "[bogus]", file: "f")
        let unknown = #expect(throws: CLIError.self) { try bogus.checkSections("f", ofProject: true) }
        #expect(unknown?.message == "f:1: unknown section \"[bogus]\"")
    }

    @Test("config show lists each setting of a file with the places that can set it, and each option in it exists")
    func places() throws {
        let entries = SettingsTable(try Settings(try GlobalOptions.parse([]), environment: [:])).entries
        for key in ConfigurationFiles.Key.allCases {
            #expect(entries.contains { $0.places.contains("\(key.rawValue) in a file") }, "\(key)")
        }
        let places = entries.flatMap { $0.places.split(separator: ", ").map(String.init) }
        for option in places where option.hasPrefix("--") {
            #expect(RootCommand.helpMessage(for: ListVerb.self).contains(option), "\(option)")
        }
        let verbs: [String: any ParsableCommand.Type] = ["worker": WorkerVerb.self, "enqueue": EnqueueVerb.self]
        let ofVerbs = places.map { $0.split(separator: " ").map(String.init) }.filter { verbs[$0[0]] != nil }
        #expect(ofVerbs.count == 6)
        for words in ofVerbs {
            let help = RootCommand.helpMessage(for: try #require(verbs[words[0]]))
            #expect(help.contains(words[1]), "\(words)")
        }
    }

    @Test("A named file must exist, and its values must be allowed")
    func missing() throws {
        #expect(throws: CLIError.self) { try ConfigurationFiles(file: "/none", profile: nil, environment: [:]) }
        try withFile("time = \"never\"") { path in
            let error = #expect(throws: CLIError.self) {
                try Settings(try GlobalOptions.parse(["--config", path]), environment: [:])
            }
            #expect(error?.status == .badConfiguration && error?.notes == ["from: \(path)"])
            #expect(error?.message == "time is \"never\", which is not a valid value")
        }
    }

    @Test("A password goes only to the server of its own section")
    func passwords() throws {
        try withFile("of-prod\n") { password in
            let text = """
                [profile.prod]
                redis = "redis://h:1"
                password_file = "\(password)"
                [profile.bare]
                password_file = "\(password)"
                """
            // The settings outside of profiles name another server, without a password.
            try withFile("redis = \"redis://elsewhere:1\"\n" + text) { path in
                let settings = { (profile: String) in
                    try Settings(try GlobalOptions.parse(["--config", path, "--profile", profile]), environment: [:])
                }
                let prod = try settings("prod").redis.content
                #expect(prod?.password == "of-prod" && prod?.description.contains("h:1") == true)
                let bare = try settings("bare").redis.content
                #expect(bare?.password == nil && bare?.description.contains("elsewhere:1") == true)
            }
        }
    }

    @Test("Quoted texts may have escapes, and a comment may follow them")
    func values() throws {
        let lines = [##"a = "x \"y\" # z" # c"##, ##"b = '# \n'"##, "c = 50 # d"]
        let text = try ConfigurationText(parsing: lines.joined(separator: "\n"), file: "f")
        let values = text.sections[""]?.settings.mapValues(\.text)
        #expect(values == ["a": ##"x "y" # z"##, "b": ##"# \n"##, "c": "50"])
    }
}
