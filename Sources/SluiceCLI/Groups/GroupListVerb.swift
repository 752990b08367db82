import ArgumentParser
import Operations
import Sluice
import SluiceOperator
import TerminalText

package struct GroupListVerb: Verb {
    package static let formats: Set<OutputFormat> = .all
    package static let effect = VerbEffect.reads

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "ls",
            abstract: "List groups that have not ended, with the progress of each.",
            discussion: """
                EXAMPLES
                  \(Program.name) group ls
                  \(Program.name) group ls -q imports -a
                """,
            aliases: ["list"]
        )
    }

    @Option(name: .shortAndLong, help: "List those of this queue.") var queue: String?
    @Flag(name: .shortAndLong, help: "Also list those that have ended and are still kept.") var all = false
    @OptionGroup var scanLimit: ScanLimit
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func check() throws {
        if let queue { try NameRule.check(queue, role: "queue") }
        try scanLimit.check()
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let client = try await invocation.connectReadingClock()
        if let queue { try await client.knownQueue(queue) }
        let walk = ListWalk(
            client.broker,
            GroupSummary.query(includesEnded: all, queue: queue),
            view: invocation.view,
            limit: .max,
            scanLimit: scanLimit.count ?? ScanLimit.builtIn,
            leavesOutAbsent: true
        )
        var groups: [GroupSummary] = []
        let result = try await walk.run(from: nil) {
            groups += $0.compactMap { GroupSummary($0) }.filter { !$0.terms.isOfRun }
        }
        print(groups, invocation)
        let console = invocation.console
        console.warn(result.absent)
        if result.isCutShort, let coverage = result.coverage { console.note("\(coverage); more with --scan-limit") }
        return .done
    }

    private func print(_ groups: [GroupSummary], _ invocation: Invocation) {
        invocation.print(invocation.report(groups), names: groups.map(\.id.description), shortIDs: groups.map(\.id)) {
            ["v": 1, "groups": .array($0)]
        }
        if groups.isEmpty, invocation.format.isText {
            invocation.console.note("no \(all ? "" : "open ")groups; open one: \(Program.name) group open NAME")
        }
    }
}
