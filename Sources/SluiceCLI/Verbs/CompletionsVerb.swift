import ArgumentParser
import Operations
import RedisClient
import SluiceOperator
import TerminalText

package struct CompletionsVerb: Verb {
    package static let formats: Set<OutputFormat> = .textOnly
    package static let effect = VerbEffect.reads

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "completions",
            abstract: "Print the script with which a shell completes command lines.",
            discussion: """
                EXAMPLES
                  source <(\(Program.name) completions bash)
                  \(Program.name) completions zsh > ~/.zfunc/_\(Program.name)
                  \(Program.name) completions fish > ~/.config/fish/completions/\(Program.name).fish

                The shell then completes commands, options, fields of queries, and queues, tags, workers, schedules, operation names and the \
                newest ids, which it reads from Redis within 150 ms or leaves out.
                """
        )
    }

    @Argument(help: "bash, zsh or fish.")
    var shell: CompletionScript
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        invocation.console.print(shell.text(for: Program.name))
        return .done
    }
}

/// The hidden command that the scripts of `completions` call.
package struct CompleteVerb: Verb {
    package static let formats: Set<OutputFormat> = .textOnly
    package static let effect = VerbEffect.reads

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "complete",
            abstract: "Print completions for the last word of a command line.",
            shouldDisplay: false
        )
    }

    @Argument(help: "The words behind the program's name.")
    var words: [String] = []
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let proposal = Completer(tree: CommandTree(RootCommand.self)).propose(words)
        var candidates = proposal.candidates
        if let (kind, before) = proposal.dynamic {
            let found = await CompletionValues(invocation: connected(invocation)).read(kind)
            let current = words.last ?? ""
            candidates += found.filter(\.isPlainWord).map { Completer.Candidate(text: before + $0.text, note: $0.note) }
                .filter { $0.text.hasPrefix(current) }
        }
        if proposal.takesFiles { invocation.console.print(":files") }
        invocation.console.print(candidates.map { $0.note.isEmpty ? $0.text : "\($0.text)\t\(SafeText.line($0.note))" })
        return .done
    }

    /// The invocation with the server and the namespace that the completed command line names.
    private func connected(_ invocation: Invocation) -> Invocation {
        var settings = invocation.settings
        for (index, word) in words.dropLast().enumerated() {
            let value = words[index + 1]
            if ["-N", "--namespace"].contains(word) { settings.namespace.content = value }
            if word == "--redis", let endpoint = try? RedisEndpoint(url: value) { settings.redis.content = endpoint }
        }
        return invocation.with(settings)
    }
}
