import Foundation
import TestSupport
import Testing

@Suite("sluice monitor in tmux, as a user meets it", .nothingRefused, .timeLimit(.minutes(60)))
struct TmuxTests {
    @Test("Every window size is drawn with what fits, and the terminal is restored at the end")
    func sizes() async throws {
        let site = MonitorSite()
        let worker = try site.worker()
        defer { worker.send(SIGKILL) }
        try await site.enqueue("sleep", "seconds:=600")
        let tmux = try await site.tmux(width: 80, height: 24)
        try await tmux.shows("[1 Overview]", "QUEUE", "EXECUTING 1", "tester", "out/s", "? help  q quit")
        #expect(try await tmux.isFullScreen)
        try await tmux.resize(width: 120, height: 35)
        try await tmux.shows("[1 Overview]", "WORKERS", "seconds=600")
        try await tmux.resize(width: 60, height: 15)
        try await tmux.shows("[1 Overview]", "EXECUTING 1", "q quit")
        #expect(try await !tmux.text.contains("out/s"))
        try await tmux.resize(width: 30, height: 4)
        try await tmux.shows("►1", "sleep", "needs 60x15 for lists")
        try await tmux.resize(width: 20, height: 3)
        try await tmux.shows("►1 ∘0 ✗0 live")
        try await tmux.resize(width: 80, height: 24)
        try await tmux.shows("[1 Overview]", "out/s")
        try await tmux.type("?")
        try await tmux.shows("KEYS", "any key back")
        try await tmux.type("x")
        try await tmux.shows("[1 Overview]")
        try await tmux.type("q")
        #expect(try await tmux.shell() == (0, true))
    }

    @Test("A signal restores the terminal", arguments: [SIGTERM, SIGHUP, SIGQUIT, SIGINT])
    func signals(signal: Int32) async throws {
        let tmux = try await MonitorSite().tmux()
        try await tmux.shows("no queues yet")
        kill(try tmux.pid, signal)
        // 130 is INT, 143 any other signal.
        #expect(try await tmux.shell() == (signal == SIGINT ? 130 : 143, true))
    }

    @Test("Ctrl-Z restores the terminal, fg continues the monitor, and the next prompt is in its place")
    func suspension() async throws {
        let tmux = try await MonitorSite().tmux()
        try await tmux.shows("no queues yet")
        try await tmux.type("\u{1A}")
        #expect(try await tmux.shell() == (128 + SIGTSTP, true))
        try await tmux.type("fg\r")
        try await tmux.shows("[1 Overview]", "no queues yet")
        try await tmux.type("q")
        #expect(try await tmux.shell() == (0, true))
        let text = try await tmux.text
        let commands = text.split(separator: "\n").filter { $0.hasPrefix("ready> ") }.map { $0.dropFirst(7).prefix(2) }
        #expect(commands.starts(with: ["sh", "ec", "fg", "ec"]), "\(text)")
        #expect(!text.contains("sluice ns:") && !text.contains("Overview"), "\(text)")
    }

    @Test("Operations are filtered, marked, and cancelled together after their number is typed")
    func bulk() async throws {
        let site = MonitorSite()
        try await site.enqueueMany(120, name: "SendEmail", queue: "mail")
        try await site.enqueueMany(3, name: "probe", queue: "video")
        let tmux = try await site.tmux()
        try await tmux.shows("mail", "video")
        try await tmux.type("2/nam:x\r")
        try await tmux.shows("unknown field", "did you mean")
        try await tmux.type("\u{15}name:Send*\r")
        try await tmux.shows("all states", "/name:Send*", "120 match")
        try await tmux.hides("probe")
        try await tmux.type("*c")
        try await tmux.shows("Cancel 120 operations?", "type 120")
        try await tmux.type("120\r")
        // The box of the change says "120 of 120 cancelled" before it closes, and still takes keys: wait until it is
        // gone.
        try await tmux.shows("120 cancelled", "canc 120", without: "of 120 cancelled")
        try await tmux.type("/\u{15}queue:video\r")
        try await tmux.shows("3 of 3", "ready")
        try await tmux.type("  d")
        try await tmux.shows("Delete 2 operations?", "2 ready")
        try await tmux.type("y")
        try await tmux.shows("2 removed", "1 of 1", without: "of 2 removed")
        try await tmux.type("q")
        #expect(try await tmux.shell() == (0, true))
    }

    @Test("A read-only monitor offers no change and makes none")
    func readOnly() async throws {
        let site = MonitorSite()
        try await site.enqueueMany(2, name: "SendEmail", queue: "mail")
        let tmux = try await site.tmux("--read-only", as: .monitor)
        try await tmux.shows("mail")
        try await tmux.type("2\t\t\t")
        try await tmux.shows("∘ ready", "2 of 2", "/ filter")
        try await tmux.type("*cRdP")
        try await tmux.type("?")
        try await tmux.shows("KEYS")
        let help = try await tmux.text
        #expect(!help.contains("cancel") && !help.contains("delete") && !help.contains("pause"))
        try await tmux.type("x1")
        try await tmux.shows("ready 2", "[1 Overview]")
        #expect(try await !tmux.text.contains("c cancel"))
        try await tmux.type("q")
        #expect(try await tmux.shell() == (0, true))
    }

    @Test("The detail screen has tabs for attempts, log, graph, timeline and raw, and copies the id")
    func detail() async throws {
        let site = MonitorSite()
        let worker = try site.worker(options: "--allow", "exec")
        defer { worker.send(SIGKILL) }
        let command = ["--attempts", "1", "--", "sh", "-c", "for i in $(seq 40); do echo step $i; done; exit 3"]
        let id = try await site.enqueue(command)
        let tmux = try await site.tmux()
        try await tmux.shows("dead 1")
        try await tmux.type("2\t\t")
        try await tmux.shows("✗ dead  1 of 1", "exec")
        try await tmux.type("\r")
        try await tmux.shows(id, "[i]nfo", "queue default")
        try await tmux.type("a")
        try await tmux.shows("attempt 1", "exit")
        try await tmux.type("l")
        try await tmux.shows("step 40", "following 40/40")
        try await tmux.type("\u{1B}[H")
        try await tmux.shows("step 1\n")
        try await tmux.type("g")
        try await tmux.shows("1 operation: 1 dead", "✗ \(id) exec")
        try await tmux.type("t")
        try await tmux.shows("enqueued", "started", "dead")
        try await tmux.type("r")
        try await tmux.shows(#""id": "\#(id)""#)
        try await tmux.type("y")
        try await eventually("the id in the clipboard") { try await tmux.clipboard == id }
        try await tmux.type("\u{1B}")
        try await tmux.shows("[2 Operations]")
        try await tmux.type("q")
        #expect(try await tmux.shell() == (0, true))
    }

    @Test("Workers are quieted, resumed and stopped, a queue is paused, and the events show it")
    func workerControl() async throws {
        let site = MonitorSite()
        let worker = try site.worker(options: "--drain-timeout", "1s")
        defer { worker.send(SIGKILL) }
        try await site.enqueue("sleep", "seconds:=600")
        let tmux = try await site.tmux()
        try await tmux.shows("EXECUTING 1")
        try await tmux.type("4")
        try await tmux.shows("tester", "1 live", "busy 1 of 2 slots, 50%", "Q quiet", "T stop after drain")
        try await tmux.type("Qy")
        try await tmux.shows("quiet, with its next heartbeat")
        try await tmux.hides("running")
        try await tmux.type("Q")
        try await tmux.shows("Resume worker tester?")
        try await tmux.type("y")
        try await tmux.shows("running")
        try await tmux.type("3gPy")
        try await tmux.shows("PAUSED", " by ")
        try await tmux.type("5")
        try await tmux.shows("following", "pause", "control")
        try await site.enqueue("noop")
        try await tmux.shows("∘ ready")
        try await tmux.type("/pause\r")
        try await tmux.shows("/pause")
        try await tmux.hides("∘ ready")
        try await tmux.type("4T")
        try await tmux.shows("Stop worker tester?")
        try await tmux.type("y")
        #expect(await worker.outcome().code == 0)
        let left = try await site.run("workers", "ls", "-o", "id").output
        expectUnlessSlow("the worker has given up its lease", left.isEmpty)
        if left.isEmpty { try await tmux.shows("no workers") }
        try await tmux.type("q")
        #expect(try await tmux.shell() == (0, true))
    }

    @Test("Keys save the view as JSON, and choose the interval, whole ids and a search")
    func comfort() async throws {
        let site = MonitorSite()
        let id = try await site.enqueue("sleep", "seconds:=600", "-q", "night")
        try await site.enqueue("noop", "-q", "day")
        let tmux = try await site.tmux()
        try await tmux.shows("night", "day")
        try await tmux.type("/nig\r")
        try await tmux.shows("►night")
        try await tmux.type("+")
        try await tmux.shows("reads every 0.5s")
        try await tmux.type("\r")
        try await tmux.shows("/queue:night", "1 of 1", "sleep")
        try await tmux.type("w")
        try await tmux.shows(id)
        try await tmux.type("E")
        try await tmux.shows("saved sluice-operations-")
        try await tmux.type("q")
        #expect(try await tmux.shell() == (0, true))
        let saved = try tmux.files.filter { $0.hasPrefix("sluice-operations-") }
        let text = try tmux.contents(of: try #require(saved.first))
        #expect(text.contains(#""id": "\#(id)""#))
    }
}
