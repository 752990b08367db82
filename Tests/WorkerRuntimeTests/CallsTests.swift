import Testing

@testable import WorkerRuntime

@Suite("Calls in flight of a queue", .timeLimit(.minutes(60)))
struct CallsTests {
    @Test("Several calls may be in flight, but a reconcile call or a repeat runs alone")
    func alone() {
        var calls = Calls()
        #expect(calls.isIdle && !calls.allowFurther)
        for number in 1...3 { #expect(calls.send(isRepeat: false) == (number, false)) }
        #expect(calls.underWay == .several(3) && !calls.allowFurther)
        calls.end(wasProbe: false)
        #expect(calls.allowFurther)
        for _ in 0..<2 { calls.end(wasProbe: false) }
        #expect(calls.isIdle)
        calls.ask()
        #expect(calls.underWay == .question && !calls.isIdle && !calls.allowFurther)
        calls.end(wasProbe: false)
        #expect(calls.send(isRepeat: true) == (4, false))
        #expect(calls.underWay == .alone && !calls.allowFurther)
        calls.end(wasProbe: false)
        #expect(calls.isIdle)
    }

    @Test("A longer round trip allows more calls at once, and a shorter one fewer")
    func longWay() {
        var calls = Calls()
        #expect(calls.atOnce == 3)
        func note(_ milliseconds: Int, wasProbe: Bool = false) -> Int {
            calls.note(roundTrip: .milliseconds(milliseconds), wasProbe: wasProbe)
            return calls.atOnce
        }
        #expect(note(4) == 6)
        #expect(note(5) == 6)
        #expect(note(2) == 4)
        // Calls wait for each other, so a longer duration does not mean a distant server. Only a probe raises the
        // number.
        for milliseconds in 3...20 { #expect(note(milliseconds) == 4) }
        #expect(note(1, wasProbe: true) == 3)
        #expect(note(5) == 3)
        #expect(note(5, wasProbe: true) == 7)
        #expect(note(40, wasProbe: true) == 8)
    }

    @Test("A probe runs alone once a round trip was measured")
    func probes() {
        var calls = Calls()
        calls.probe()
        #expect(calls.send(isRepeat: false) == (1, false))
        calls.note(roundTrip: .milliseconds(2), wasProbe: false)
        calls.probe()
        #expect(!calls.allowFurther)
        calls.end(wasProbe: false)
        #expect(calls.send(isRepeat: false) == (2, true))
        #expect(calls.underWay == .alone && !calls.allowFurther)
        calls.end(wasProbe: true)
        #expect(calls.send(isRepeat: false) == (3, false))
        #expect(calls.allowFurther)
    }

    @Test("An answer counts as news only if no later call was answered earlier")
    func news() {
        var calls = Calls()
        let isNews = [2, 1, 2, 3].map { calls.isNews($0) }
        #expect(isNews == [true, false, false, true])
    }
}
