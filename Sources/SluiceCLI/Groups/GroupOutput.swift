import Operations
import SluiceOperator
import TerminalText

extension Invocation {
    func report(_ groups: [GroupSummary]) -> RowReport<GroupSummary> { GroupSummary.report(groups, view) }

    /// Prints a group after a change: as JSON, or as a line.
    func print(_ group: GroupSummary, line: String) {
        guard !format.isText else { return console.print(line) }
        print(report([group]), names: [group.id.description]) { $0[0] }
    }
}
