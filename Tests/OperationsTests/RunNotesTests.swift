import Operations
import Synchronization
import Testing

@Suite("The notes of a run", .timeLimit(.minutes(60)))
struct RunNotesTests {
    @Test("call each listener once with the first end, also one that comes after it")
    func once() {
        let notes = RunNotes(waited: nil)
        let seen = Mutex<[String]>([])
        notes.whenEnded { end in seen.withLock { $0.append("early \(end.state)") } }
        notes.ended(.init(state: "returned", error: nil))
        notes.ended(.init(state: "finished", error: nil))
        notes.whenEnded { end in seen.withLock { $0.append("late \(end.state)") } }
        #expect(seen.withLock { $0 } == ["early returned", "late returned"])
    }
}
