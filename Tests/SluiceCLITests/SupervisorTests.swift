import Operations
import WorkerRuntime
import Testing

@testable import SluiceCLI

@Suite("Decisions of a supervisor", .timeLimit(.minutes(60)))
struct SupervisorTests {
    @Test("A process that dies early is restarted after growing pauses, and at once after a longer life")
    func pauses() {
        var plan = RestartPlan(burst: .none)
        func step(_ lifetime: Duration) -> RestartPlan.Step {
            plan.step(after: .killed(signal: 9), lifetime: lifetime, isStopping: false)
        }
        let expected: [Duration] = [.zero, .milliseconds(100), .milliseconds(200), .milliseconds(400)]
        for pause in expected { #expect(step(.seconds(1)) == .restart(after: pause)) }
        for _ in 1...40 { _ = step(.seconds(1)) }
        #expect(step(.seconds(1)) == .restart(after: .seconds(30)))
        #expect(step(.seconds(10)) == .restart(after: .zero))
        #expect(step(.seconds(1)) == .restart(after: .milliseconds(100)))
    }

    @Test("Ended processes are restarted, except at the end of a burst or while the supervisor stops")
    func ends() {
        func step(
            _ code: Int32,
            burst: WorkerConfiguration.Burst = .none,
            isStopping: Bool = false
        ) -> RestartPlan.Step {
            var plan = RestartPlan(burst: burst)
            return plan.step(after: .exited(code: code), lifetime: .seconds(60), isStopping: isStopping)
        }
        #expect(step(0) == .restart(after: .zero))
        #expect(step(70) == .restart(after: .zero))
        #expect(step(0, burst: .ready) == .done)
        #expect(step(69, burst: .ready) == .fail(.unreachable))
        for code in [0, 70, 143] as [Int32] { #expect(step(code, isStopping: true) == .done) }
    }

    @Test("A status that no restart can fix ends all processes, unless the process ran before")
    func hopeless() {
        for status in [ExitStatus.usage, .denied, .badConfiguration] {
            var plan = RestartPlan(burst: .none)
            let end = WorkerProcess.End.exited(code: status.rawValue)
            #expect(plan.step(after: end, lifetime: .zero, isStopping: false) == .fail(status))
            var later = RestartPlan(burst: .none)
            _ = later.step(after: .killed(signal: 9), lifetime: .seconds(60), isStopping: false)
            #expect(later.step(after: end, lifetime: .zero, isStopping: false) == .restart(after: .milliseconds(100)))
        }
    }

    @Test("Children get the supervisor's arguments without those for the supervisor itself")
    func arguments() {
        let given = [
            "-N", "shop", "worker", "--processes", "4", "-c", "2", "--health=8080", "--name", "w", "--health", "9",
            "-v",
            "--processes=3",
        ]
        let worker = WorkerID("01ARZ3NDEKTSV4RRFFQ69G5FAV")
        #expect(
            ChildArguments.make(from: given, worker: worker, health: "/tmp/h.json") == [
                "-N", "shop", "worker", "-c", "2", "--name", "w", "-v", "--supervised", "01ARZ3NDEKTSV4RRFFQ69G5FAV",
                "--health", "/tmp/h.json",
            ]
        )
    }

    @Test("The supervisor is ready if a process has recently reported that it is ready")
    func health() {
        let text = HealthReport(WorkerHealth(isReady: true, reason: "claiming operations"))
        let fresh = HealthBoard.read(text.json, now: text.time + 10_000)
        let old = HealthBoard.read(text.json, now: text.time + 10_001)
        let none = HealthBoard.read("", now: 0)
        #expect(fresh.isReady && !old.isReady && !none.isReady)
        #expect(
            HealthBoard.sum([fresh, old], count: 3)
                == WorkerHealth(isReady: true, reason: "1 of 3 processes are ready; no report for 10 s")
        )
        #expect(!HealthBoard.sum([old, none], count: 2).isReady)
    }
}
