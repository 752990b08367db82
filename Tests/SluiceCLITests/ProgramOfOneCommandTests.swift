import ArgumentParser
import Testing

@testable import SluiceCLI

@Suite("A program of one command", .timeLimit(.minutes(60)))
struct ProgramOfOneCommandTests {
    private struct Hello: Verb {
        static let formats: Set<OutputFormat> = .textOnly
        static let effect = VerbEffect.reads
        @Option var name: String
        @OptionGroup var global: GlobalOptions

        func perform(_ invocation: Invocation) async throws -> SluiceCLI.ExitStatus {
            name == "list" ? .refused : .done
        }
    }

    private func run(_ arguments: String...) async -> SluiceCLI.ExitStatus {
        await SluiceMain.run(arguments, root: Hello.self, environment: [:])
    }

    @Test("Its arguments are those of the program, also where a word of them names a command of sluice")
    func arguments() async {
        #expect(await run("--name", "list") == .refused)
        #expect(await run("--quiet", "--name", "list") == .refused)
        #expect(await run("--name", "world", "--quiet") == .done)
    }

    @Test("It has no other command, and unknown options are refused")
    func refused() async {
        #expect(await run("list") == .usage)
        #expect(await run("--nmae", "list") == .usage)
        #expect(await SluiceMain.run(["hello"], environment: [:]) == .usage)
    }
}
