import Testing

@testable import WorkerRuntime

@Suite("The calls of a queue that are under way", .timeLimit(.minutes(60)))
struct CallsTests {
    @Test("are several, and the question what is owned or a repeat is one alone")
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

    @Test("are more at once where round trips are long, and fewer when that is over")
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
        // Calls that wait for each other take longer, however near the server is.
        for milliseconds in 3...20 { #expect(note(milliseconds) == 4) }
        #expect(note(1, wasProbe: true) == 3)
        #expect(note(5) == 3)
        #expect(note(5, wasProbe: true) == 7)
        #expect(note(40, wasProbe: true) == 8)
    }

    @Test("let a probe go alone once something is known of round trips")
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

    @Test("bring news only while no later one was answered")
    func news() {
        var calls = Calls()
        let isNews = [2, 1, 2, 3].map { calls.isNews($0) }
        #expect(isNews == [true, false, false, true])
    }
}
