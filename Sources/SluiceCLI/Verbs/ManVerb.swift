import ArgumentParser
import Foundation
import Operations
import SluiceOperator

package struct ManVerb: Verb {
    package static let formats: Set<OutputFormat> = .textOnly
    package static let effect = VerbEffect.reads

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "man",
            abstract: "Print the manual page of a command, or write all of them.",
            discussion: """
                EXAMPLES
                  \(Program.name) man cancel | man -l -
                  \(Program.name) man queue pause | man -l -
                  \(Program.name) man --write ~/.local/share/man/man1

                The pages are made from the help of this program, so they say what it does. With --write, man finds them if the folder \
                is on its path: man \(Program.name)-cancel
                """
        )
    }

    @Argument(help: "The words of a command.") var command: [String] = []
    @Option(help: ArgumentHelp("Write the pages of all commands into this folder.", valueName: "folder")) var write:
        String?
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func check() throws {
        guard write != nil, !command.isEmpty else { return }
        throw CLIError.usage("--write writes the pages of all commands", fix: "\(Program.name) man --write FOLDER")
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let pages = ManPage.all(of: RootCommand.self)
        if let write {
            try save(pages, in: write)
            invocation.console.note("\(pages.count) pages are in \(write)")
            return .done
        }
        let name = ([Program.name] + command).joined(separator: "-")
        guard let page = pages.first(where: { $0.name == name }) else {
            throw CLIError.usage(
                "unknown command \"\(command.joined(separator: " "))\"",
                fix: "\(Program.name) --help"
            )
        }
        invocation.console.write(page.text)
        return .done
    }

    private func save(_ pages: [ManPage], in folder: String) throws {
        let url = URL(fileURLWithPath: (folder as NSString).expandingTildeInPath, isDirectory: true)
        do {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
            for page in pages { try Data(page.text.utf8).write(to: url.appendingPathComponent("\(page.name).1")) }
        } catch {
            throw CLIError(.unwritten, "cannot write the pages to \(folder): \(error.localizedDescription)")
        }
    }
}
