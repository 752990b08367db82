import Operations
import Testing

@testable import WorkerRuntime

@Suite("Names of unhandled operations", .timeLimit(.minutes(60)))
struct UnhandledNamesTests {
    @Test("Names go with each claim until one claim has left no operation with them")
    func asks() {
        var names = UnhandledNames()
        names.add(["a", "b", "a"])
        let asked = names.ask()
        #expect(asked.names == ["a", "b"])
        #expect(names.ask().names == ["b", "a"])
        names.handled(asked)
        #expect(names.isEmpty && names.ask().names.isEmpty)
    }

    @Test("A name stays if a notice arrived after the claim was sent")
    func news() {
        var names = UnhandledNames()
        names.add(["a"])
        let asked = names.ask()
        names.add(["a"])
        names.handled(asked)
        #expect(names.ask().names == ["a"])
    }

    @Test("Names beyond the limit of one claim stay")
    func many() {
        var names = UnhandledNames()
        let all = (0...SluiceDefaults.unhandledNamesClaimed).map { "name\($0)" }
        names.add(all)
        let asked = names.ask()
        #expect(asked.names.count == SluiceDefaults.unhandledNamesClaimed)
        names.handled(asked)
        #expect(names.ask().names == [all.last])
    }
}
