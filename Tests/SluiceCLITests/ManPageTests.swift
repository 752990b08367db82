import Testing

@testable import SluiceCLI
@testable import SluiceOperator

@Suite("Manual pages", .timeLimit(.minutes(60)))
struct ManPageTests {
    private let pages = ManPage.all(of: RootCommand.self)

    /// The page of a command.
    ///
    /// - Parameter command: the words after the program's name.
    private func page(_ command: String...) throws -> String {
        let name = ([Program.name] + command).joined(separator: "-")
        return try #require(pages.first { $0.name == name }).text
    }

    @Test("The program, each command and each subcommand have a page")
    func all() throws {
        let names = Set(pages.map(\.name))
        let some = ["", "-cancel", "-queue", "-queue-pause", "-man"].map { Program.name + $0 }
        #expect(names.isSuperset(of: some))
        #expect(names.count == pages.count)
        let cancel = try page("cancel")
        for part in [
            "\\-cancel \\- Cancel", ".SH SYNOPSIS\n\\fB\(Program.name) cancel\\fR", ".SH EXAMPLES\n.nf\n",
            "\\fB\\-\\-reason\\fR",
        ] {
            #expect(cancel.contains(part), "\(cancel)")
        }
        #expect(try page().contains(".SH EXIT STATUS"))
        #expect(try page("queue").contains("\\-queue\\-pause\\fR(1)"))
    }

    @Test("The help of each command begins with examples")
    func examples() {
        let without = pages.filter { !$0.text.contains(".SH EXAMPLES\n.nf\n") }.map(\.name)
        // ArgumentParser makes this command.
        #expect(without == ["\(Program.name)-help"])
    }

    @Test("Roff takes no text of the help for a request or an escape")
    func escapes() {
        let requests: Set = [".TH", ".SH", ".nf", ".fi", ".TP", ".PP", ".br"]
        for page in pages {
            for line in page.text.split(separator: "\n") where line.hasPrefix(".") || line.hasPrefix("'") {
                #expect(requests.contains(String(line.split(separator: " ")[0])), "\(page.name): \(line)")
            }
            let escapes = page.text.matches(of: /\\(.)/).map { String($0.1) }
            #expect(Set(escapes).isSubset(of: ["f", "-", "e", "&"]), "\(page.name): \(Set(escapes))")
        }
    }
}
