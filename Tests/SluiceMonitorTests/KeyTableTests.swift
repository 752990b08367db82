import Testing
import TerminalText

@testable import SluiceMonitor

@Suite("The table of keys", .timeLimit(.minutes(60)))
struct KeyTableTests {
    @Test("A key has one meaning in each place, and each action has a key", arguments: KeyPlace.allCases)
    func unique(place: KeyPlace) {
        let keys = KeyTable.bindings(in: place, isReadOnly: false).flatMap(\.actions.keys)
        #expect(Set(keys).count == keys.count)
        let actions = Set(KeyTable.bindings.flatMap(\.actions.values))
        #expect(actions == Set(KeyAction.allCases))
    }

    @Test("Read-only mode has all keys except those that change something", arguments: KeyPlace.allCases)
    func readOnly(place: KeyPlace) {
        for binding in KeyTable.bindings(in: place, isReadOnly: false) {
            for (key, action) in binding.actions {
                let allowed = KeyTable.action(key, in: place, isReadOnly: true)
                #expect(allowed == (binding.changes ? nil : action))
            }
        }
    }

    @Test("The help lists exactly the keys of the place", arguments: [(80, 24), (60, 15), (30, 10)])
    func help(width: Int, height: Int) {
        var model = shopModel(isReadOnly: true)
        _ = model.type("?")
        var text = ""
        for _ in 0..<20 {
            text += model.grid(width, height).text
            _ = model.handle(.down)
        }
        for binding in KeyTable.bindings {
            let isHere = binding.places.contains(.overview) && !binding.changes
            let start = binding.label.padded(toWidth: 11) + binding.help.prefix(14)
            #expect(text.contains(start) == isHere, "\(binding.label) \(binding.help)")
        }
        #expect(model.help != nil)
        _ = model.type("x")
        #expect(model.help == nil)
    }
}
