import ArgumentParser
import Testing

@testable import SluiceCLI

@Suite("Commands that a program adds", .timeLimit(.minutes(60)))
struct AddedVerbsTests {
    private struct Hello: Verb {
        static let formats: Set<OutputFormat> = .textOnly
        static let effect = VerbEffect.reads
        static var configuration: CommandConfiguration { CommandConfiguration(commandName: "hello") }
        @OptionGroup var global: GlobalOptions

        func perform(_ invocation: Invocation) async throws -> SluiceCLI.ExitStatus { .refused }
    }

    @Test("Added commands come last in the help, and other programs refuse them")
    func added() async {
        await RootCommand.$added.withValue([Hello.self]) {
            #expect(RootCommand.configuration.subcommands.last is Hello.Type)
            #expect(await SluiceMain.run(["--quiet", "hello"], environment: [:]) == .refused)
        }
        #expect(await SluiceMain.run(["hello"], environment: [:]) == .usage)
    }

    @Test("A user's program has no bench")
    func bench() async {
        #expect(!RootCommand.helpMessage().contains("bench"))
        #expect(await SluiceMain.run(["bench"], environment: [:]) == .usage)
    }
}
