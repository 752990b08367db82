import Operations
import Testing

@testable import WorkerRuntime

@Suite("Names of unhandled operations", .timeLimit(.minutes(60)))
struct UnhandledNamesTests {
    @Test("go with the next claims until one has left none of them")
    func asks() {
        var names = UnhandledNames()
        names.add(["a", "b", "a"])
        let asked = names.ask()
        #expect(asked.names == ["a", "b"])
        #expect(names.ask().names == ["b", "a"])
        names.handled(asked)
        #expect(names.isEmpty && names.ask().names.isEmpty)
    }

    @Test("stay where a notice came after the claim was sent")
    func news() {
        var names = UnhandledNames()
        names.add(["a"])
        let asked = names.ask()
        names.add(["a"])
        names.handled(asked)
        #expect(names.ask().names == ["a"])
    }

    @Test("that were not asked for stay")
    func many() {
        var names = UnhandledNames()
        let all = (0...Defaults.unhandledNamesClaimed).map { "name\($0)" }
        names.add(all)
        let asked = names.ask()
        #expect(asked.names.count == Defaults.unhandledNamesClaimed)
        names.handled(asked)
        #expect(names.ask().names == [all.last])
    }
}
