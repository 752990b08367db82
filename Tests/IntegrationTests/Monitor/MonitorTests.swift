import Foundation
import TestSupport
import Testing

@Suite("sluice monitor, the program", .nothingRefused, .timeLimit(.minutes(60)))
struct MonitorTests {
    private typealias Site = MonitorSite

    @Test("The monitor shows running operations, opens and cancels one, and restores the terminal")
    func work() async throws {
        let site = Site()
        let worker = try site.worker()
        defer { worker.send(SIGKILL) }
        for _ in 0..<2 { #expect(try await site.run("enqueue", "sleep", "seconds:=600").code == 0) }
        let monitor = try site.monitor(as: .operator)
        try await monitor.shows("EXECUTING 2")
        try await monitor.shows("tester")
        #expect(monitor.isFullScreen)
        #expect(!monitor.isModeRestored)
        monitor.type("\r")
        try await monitor.shows("► executing")
        try await monitor.shows(#"{"seconds":600}"#)
        monitor.type("\u{1B}")
        try await monitor.shows("[1 Overview]")
        monitor.type("c")
        try await monitor.shows("Cancel sleep?")
        monitor.type("\tby hand\ry")
        try await monitor.shows("cancel requested")
        try await monitor.shows("EXECUTING 1")
        try await monitor.shows("canc 1")
        let cancelled = try await site.run("list", "state:cancelled", "-o", "json")
        #expect(cancelled.output.contains("by hand"))
        monitor.type("q")
        #expect(try await monitor.end() == 0)
        #expect(!monitor.isFullScreen)
        #expect(monitor.isModeRestored)
    }

    @Test("The operations screen lists waiting operations and cancels one")
    func operations() async throws {
        let site = Site()
        #expect(try await site.run("enqueue", "sleep", "seconds:=600", "-q", "night").code == 0)
        let monitor = try site.monitor(as: .operator)
        try await monitor.shows("night")
        monitor.type("2")
        try await monitor.shows("executing  0 of 0")
        monitor.type("\t\t\t")
        try await monitor.shows("ready  1 of 1")
        try await monitor.shows("sleep")
        monitor.type("c")
        try await monitor.shows("Cancel sleep?")
        monitor.type("y")
        try await monitor.shows("ready  0 of 0")
        try await monitor.shows("canc 1")
        monitor.type("q")
        #expect(try await monitor.end() == 0)
    }

    @Test("On a dumb terminal the monitor prints one snapshot and ends")
    func dumb() async throws {
        let monitor = try Site().monitor(terminal: "dumb")
        #expect(try await monitor.end() == 0)
        #expect(!monitor.isFullScreen)
        #expect(monitor.isModeRestored)
        #expect(monitor.text.contains("no queues yet"))
    }

    @Test("A signal or Ctrl-C restores the terminal", arguments: [SIGTERM, SIGINT, 0])
    func signals(signal: Int32) async throws {
        let monitor = try Site().monitor()
        try await monitor.shows("no queues yet")
        if signal == 0 { monitor.type("\u{3}") } else { kill(monitor.pid, signal) }
        #expect(try await monitor.end() == 128 + (signal == 0 ? SIGINT : signal))
        #expect(!monitor.isFullScreen)
        #expect(monitor.isModeRestored)
    }

    @Test("A crash restores the terminal before the process ends")
    func crash() async throws {
        let monitor = try Site().monitor()
        try await monitor.shows("no queues yet")
        kill(monitor.pid, SIGSEGV)
        #expect(try await monitor.end() == 128 + SIGSEGV)
        #expect(!monitor.isFullScreen)
        #expect(monitor.isModeRestored)
    }

    @Test("The monitor redraws after a resize, down to one line and back")
    func resize() async throws {
        let site = Site()
        #expect(try await site.run("enqueue", "noop", "-q", "waiting").code == 0)
        let monitor = try site.monitor()
        try await monitor.shows("QUEUE")
        monitor.resize(width: 29, height: 3)
        try await monitor.shows("►0 ∘1 ✗0 live")
        monitor.resize(width: 100, height: 30)
        try await monitor.shows("waiting")
        monitor.type("q")
        #expect(try await monitor.end() == 0)
    }

    @Test(
        "While Redis is silent, keys work and the header shows the age of the data; later the monitor continues",
        .enabled(if: TestRedis.isSingle, "it is about a server that is stopped")
    )
    func silence() async throws {
        let server = try TestServer.start()
        defer { server.stop() }
        let site = Site(.server(server))
        #expect(try await site.run("enqueue", "noop", "-q", "kept").code == 0)
        let monitor = try site.monitor("-i", "250ms")
        try await monitor.shows("kept")
        server.signal(SIGSTOP)
        defer { server.signal(SIGCONT) }
        // On a slow machine the read has failed before the screen is drawn.
        try await monitor.shows("STALE", "DISCONNECTED")
        monitor.type("?")
        try await monitor.shows("KEYS")
        monitor.type("?")
        try await monitor.shows("kept")
        server.signal(SIGCONT)
        try await monitor.shows("live")
        server.signal(SIGSTOP)
        monitor.type("q")
        #expect(try await monitor.end() == 0)
    }

    @Test(
        "While Redis is silent a change waits: Esc withdraws it, the timeout drops it, and neither is sent later",
        .enabled(if: TestRedis.isSingle, "it is about a server that is stopped")
    )
    func withdrawal() async throws {
        let server = try TestServer.start()
        defer { server.stop() }
        let site = Site(.server(server))
        #expect(try await site.run("enqueue", "noop", "-q", "kept").code == 0)
        let monitor = try site.monitor("-i", "250ms", width: 120, as: .operator)
        try await monitor.shows("kept")
        try await monitor.shows("P pause queue")
        // Both keys at once, because the change waits only for some seconds.
        for (keys, end) in [("y\u{1B}", "withdrawn: pause queue kept"), ("y", "dropped: pause queue kept")] {
            server.signal(SIGSTOP)
            defer { server.signal(SIGCONT) }
            monitor.type("P")
            try await monitor.shows("Pause queue kept?")
            monitor.type(keys)
            try await monitor.shows(end)
        }
        try await monitor.shows("live")
        // A later change is answered after every earlier call.
        monitor.type("P")
        try await monitor.shows("Pause queue kept?")
        monitor.type("y")
        try await monitor.shows("queue kept paused")
        monitor.type("5")
        try await monitor.shows(" pause ")
        #expect(monitor.text.matches(of: /pause +kept/).count == 1, "\(monitor.text)")
        monitor.type("q")
        #expect(try await monitor.end() == 0)
    }

    @Test("Without a terminal the monitor prints one snapshot, as text or as the stats object")
    func plain() async throws {
        let site = Site()
        #expect(try await site.run("enqueue", "noop", "-q", "mail").code == 0)
        let text = try await site.run("monitor")
        #expect(text.code == 0)
        #expect(text.output.contains("ready 1  scheduled 0"))
        #expect(text.output.contains("no worker"))
        #expect(!text.output.contains("\u{1B}"))
        let json = try await site.run("monitor", "--once", "-o", "json")
        #expect(json.output.contains(#""ready": 1,"#))
        #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(json.output.utf8)) }
    }

    @Test("--until-idle ends when nothing waits or runs; without a terminal it prints progress meanwhile")
    func untilIdle() async throws {
        let site = Site()
        #expect(try await site.run("monitor", "--until-idle").code == 0)
        let worker = try site.worker()
        defer { worker.send(SIGKILL) }
        let enqueued = try await site.run("enqueue", "sleep", "seconds:=300", "-o", "id")
        let id = enqueued.output.trimmingCharacters(in: .whitespacesAndNewlines)
        let lines = try Program("sluice", ["monitor", "--until-idle", "-i", "250ms"], environment: site.environment)
        try await eventually("it shows how far the operation is") { lines.output.contains(/[1-9][0-9]?%/) }
        #expect(try await site.run("cancel", id, "-y").code == 0)
        #expect(await lines.outcome().code == 0)
        #expect(try await site.run("enqueue", "sleep", "seconds:=1").code == 0)
        let monitor = try site.monitor("--until-idle")
        #expect(try await monitor.end() == 0)
        #expect(!monitor.isFullScreen)
        #expect(monitor.text.contains("ready 0, executing 0, finished 1, dead 0, cancelled 1"))
    }
}
