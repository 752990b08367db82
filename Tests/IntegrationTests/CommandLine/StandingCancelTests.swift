import Foundation
import Operations
import TestSupport
import Testing

@Suite("Standing cancels", .fewAtOnce, .timeLimit(.minutes(60)))
struct StandingCancelTests {
    @Test("Standing cancels end waiting and later operations by tag, name and arguments before they begin")
    func later() async throws {
        let installation = try Installation()
        let waiting = try await installation.enqueue(
            ["-t", "night", "--in", "1h", "--"] + installation.ledger.program(seconds: 0)
        )
        let worker = try installation.worker()
        try await installation.succeed("cancel", "-t", "night", "--until", "10h", "--reason", "maintenance", "-y")
        #expect(try await installation.show(waiting).state == "cancelled")
        let later = try await installation.enqueue(["-t", "night", "--"] + installation.ledger.program(seconds: 0))
        let other = try await installation.enqueue(["--"] + installation.ledger.program(seconds: 0))
        try await installation.awaitState("cancelled", of: later)
        try await installation.awaitState("finished", of: other)
        #expect(Set(try installation.ledger.lines().map(\.id)) == [other])
        #expect(try await installation.show(later).cancel?.reason == "maintenance")
        let text = try await installation.succeed("show", later)
        #expect(text.contains("by standing cancel default/1 before it began"), "\(text)")
        let listed = try JSONValue(parsing: try await installation.succeed("cancels", "ls", "-o", "json"))
        let only = try #require(listed["cancels"]?.arrayValue?.first)
        #expect(only["cancelled"]?.intValue == 1 && only["query"]?.stringValue == "tag:\"night\"")
        #expect(try await installation.sluice("cancels", "rm", "default/99").code == 3)
        try await installation.succeed("cancels", "rm", "default/1")
        let again = try await installation.enqueue(["-t", "night", "--"] + installation.ledger.program(seconds: 0))
        try await installation.awaitState("finished", of: again)
        try await installation.succeed("cancel", "-w", "name:noop args.user.id:42", "--until", "10h", "-y")
        let mine = try await installation.enqueue("noop", "user:={\"id\":42}")
        let others = try await installation.enqueue("noop", "user:={\"id\":43}")
        try await installation.awaitState("cancelled", of: mine)
        try await installation.awaitState("finished", of: others)
        withExtendedLifetime(worker) {}
    }

    @Test("explain names the standing cancel that will end an operation; unusable queries are refused")
    func explained() async throws {
        let installation = try Installation()
        let id = try await installation.enqueue("noop")
        try await installation.succeed("cancel", id)
        try await installation.succeed("cancel", "-w", "name:sleep", "--until", "10h", "-y")
        let waiting = try await installation.enqueue("sleep", "seconds:=1")
        let text = try await installation.succeed("explain", waiting)
        #expect(text.contains("a standing cancel will cancel it before it starts"), "\(text)")
        #expect(text.contains("sluice cancels rm default/1"), "\(text)")
        for words in [
            ["-w", "state:ready", "--until", "10h"], ["--all", "--until", "10h"], ["-t", "x", "--until", "90d"],
        ] {
            #expect(try await installation.run(["cancel", "-y"] + words, input: nil).code == 64, "\(words)")
        }
        for number in 2...16 {
            try await installation.succeed("cancel", "-t", "t\(number)", "--until", "10h", "-y")
        }
        #expect(try await installation.sluice("cancel", "-t", "more", "--until", "10h", "-y").code == 5)
        try await installation.succeed("cancels", "rm", "--all")
        #expect(try await installation.succeed("cancels", "ls", "-o", "id").isEmpty)
    }
}
