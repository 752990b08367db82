import Foundation
import TestTools
import Testing

@testable import image_run

/// The server as a process, with two small files on its site and one outside
private struct RunningServer {
    let directory: TemporaryDirectory
    let program: Program
    let port: Int

    static let files = ["a.png": Data(repeating: 1, count: 1_000), "b.png": Data(repeating: 2, count: 700_000)]

    init(plan: String? = nil) async throws {
        directory = try TemporaryDirectory()
        let site = directory.url.appendingPathComponent("site")
        try FileManager.default.createDirectory(at: site, withIntermediateDirectories: true)
        for (name, data) in Self.files { try data.write(to: site.appendingPathComponent(name)) }
        try Data("secret".utf8).write(to: directory.url.appendingPathComponent("secret.png"))
        var arguments = ["serve", site.path, "--log", directory.path("log"), "--ready", directory.path("ready")]
        if let plan {
            try Data(plan.utf8).write(to: directory.url.appendingPathComponent("plan"))
            arguments += ["--plan", directory.path("plan")]
        }
        let program = try Program("image-run", arguments)
        let ready = directory.url.appendingPathComponent("ready")
        try await eventually("the server listens") { FileManager.default.fileExists(atPath: ready.path) }
        let readiness = try JSONDecoder().decode(ServeCommand.Readiness.self, from: Data(contentsOf: ready))
        #expect(readiness.pid == program.identifier)
        (self.program, port) = (program, readiness.port)
    }

    func get(_ path: String, method: String = "GET") throws -> HTTPProbe.Answer {
        try HTTPProbe.get(port: port, path, method: method)
    }

    func log() throws -> [Traffic.Entry] {
        let data = try Data(contentsOf: directory.url.appendingPathComponent("log"))
        return try data.split(separator: UInt8(ascii: "\n")).map {
            try JSONDecoder().decode(Traffic.Entry.self, from: Data($0))
        }
    }

    /// Ends the server and returns its log.
    func stop() async throws -> [Traffic.Entry] {
        program.send(SIGTERM)
        let outcome = await program.outcome()
        #expect(outcome.code == 0, "\(outcome.errors)")
        return try log()
    }
}

@Suite("image-run serve", .timeLimit(.minutes(60)))
struct ImageRunServeTests {
    @Test("GET returns a whole file and HEAD no body; everything else is refused")
    func files() async throws {
        let server = try await RunningServer()
        for (name, data) in RunningServer.files {
            let answer = try server.get("/\(name)")
            #expect(answer.status == 200)
            #expect(answer.body == data)
            #expect(answer.fields["content-type"] == "image/png")
        }
        let head = try server.get("/b.png", method: "HEAD")
        #expect(head.fields["content-length"] == "700000")
        #expect(head.body.isEmpty)
        #expect(try server.get("/a.png", method: "DELETE").status == 405)
        let strays = ["/", "/nope.png", "/../secret.png", "/%2e%2e/secret.png", "/site/../../secret.png", "//a.png"]
        for path in strays { #expect(try server.get(path).status == 404, "\(path)") }
        let log = try await server.stop()
        #expect(log.count == 4 + strays.count)
        #expect(log.allSatisfy { $0.outcome == .complete && $0.inFlight == 1 })
        #expect(log.contains { $0.path == "/b.png" && $0.method == "GET" && $0.bytes == 700_000 })
    }

    @Test("A flaky path answers 503, then cuts the body in the middle, then works")
    func flaky() async throws {
        let server = try await RunningServer()
        #expect(try server.get("/flaky/b.png").status == 503)
        let cut = try server.get("/flaky/b.png")
        #expect(cut.status == 200)
        #expect(cut.fields["content-length"] == "700000")
        #expect(cut.body == RunningServer.files["b.png"]?.prefix(350_000))
        #expect(try server.get("/flaky/b.png").body == RunningServer.files["b.png"])
        #expect(try server.get("/missing/b.png").status == 404)
        let log = try await server.stop()
        #expect(log.map(\.outcome) == [.complete, .cut, .complete, .complete])
        #expect(log[1].bytes == 350_000)
    }

    @Test("Slow and delayed paths take their time")
    func slow() async throws {
        let server = try await RunningServer()
        let (delayed, delay) = try timed { try server.get("/delay-150/a.png") }
        #expect(delayed.body.count == 1_000)
        #expect(delay >= .milliseconds(150))
        let (slow, time) = try timed { try server.get("/slow-1/a.png") }
        #expect(slow.body == RunningServer.files["a.png"])
        #expect(time >= .milliseconds(800))
    }

    private func timed<Value>(_ work: () throws -> Value) rethrows -> (Value, Duration) {
        let start = ContinuousClock.now
        return (try work(), ContinuousClock.now - start)
    }

    @Test("A plan defines the behaviour of paths")
    func plan() async throws {
        let plan = #"{"/a.png":{"failures":[500]},"/b.png":{"always":"cut"}}"#
        let server = try await RunningServer(plan: plan)
        #expect(try [server.get("/a.png").status, server.get("/a.png").status] == [500, 200])
        for _ in 0..<2 { #expect(try server.get("/b.png").body.count == 350_000) }
    }

    @Test("Requests in flight are counted, and a client that leaves is noticed at once")
    func inFlight() async throws {
        let server = try await RunningServer()
        let slow = try HTTPProbe(port: server.port, "/slow-600/b.png")
        let other = try HTTPProbe(port: server.port, "/slow-600/a.png")
        #expect(slow.readSome() > 0 && other.readSome() > 0)
        slow.disconnect()
        try await eventually("the log has the client that left") { try !server.log().isEmpty }
        let left = try server.log()[0]
        #expect(left.outcome == .clientClosed)
        #expect(left.path == "/slow-600/b.png")
        #expect(left.bytes < 700_000)
        #expect(try server.get("/a.png").status == 200)
        other.disconnect()
        try await eventually("the log has the other client") { try server.log().count == 3 }
        #expect(try server.get("/a.png").status == 200)
        let log = try await server.stop()
        let counts = log.sorted { $0.time < $1.time }.map(\.inFlight)
        #expect(counts.max() == 2)
        #expect(log.first { $0.path == "/a.png" }?.inFlight == 2)
        #expect(log.last?.inFlight == 1)
    }

    @Test("When the server is stopped, an unfinished answer is in the log as cut")
    func stopped() async throws {
        let server = try await RunningServer()
        let slow = try HTTPProbe(port: server.port, "/slow-600/b.png")
        #expect(slow.readSome() > 0)
        let log = try await server.stop()
        #expect(log.last?.path == "/slow-600/b.png")
        #expect(log.last?.outcome == .cut)
        slow.disconnect()
    }

    @Test("Without a directory, or with an invalid plan, the server does not start")
    func refusesToStart() async throws {
        let directory = try TemporaryDirectory()
        let files = ["--log", directory.path("log"), "--ready", directory.path("ready")]
        let missing = try await Program.run("image-run", ["serve", directory.path("nowhere")] + files)
        #expect(missing.code == 66)
        #expect(missing.errors.hasPrefix("error: there is no directory"))
        try Data(#"{"/a":{"failures":[200]}}"#.utf8).write(to: directory.url.appendingPathComponent("plan"))
        let arguments = ["serve", directory.url.path, "--plan", directory.path("plan")] + files
        let badPlan = try await Program.run("image-run", arguments)
        #expect(badPlan.code == 66)
        #expect(badPlan.errors.contains("is no plan"))
        #expect(!FileManager.default.fileExists(atPath: directory.path("ready")))
    }

    @Test("A path gives a behaviour and a plain file name, or nothing")
    func paths() throws {
        let site = try Site(directory: FileManager.default.temporaryDirectory)
        #expect(site.target("/x.png") == Site.Target(fileName: "x.png", behavior: Behavior()))
        #expect(
            site.target("/delay-200/slow-3/x.png?y=1")
                == Site.Target(
                    fileName: "x.png",
                    behavior: Behavior(delayMilliseconds: 200, durationMilliseconds: 3_000)
                )
        )
        #expect(site.target("/flaky/x.png")?.behavior.failure(after: 1) == .cut)
        #expect(site.target("/flaky/x.png")?.behavior.failure(after: 2) == nil)
        #expect(site.target("/missing/x.png")?.behavior.failure(after: 99) == .status(404))
        for path in [
            "", "x.png", "/", "/.", "/..", "/../x.png", "/.hidden", "/a/x.png", "/slow-0/x.png", "/slow-601/x.png",
            "/slow--1/x.png", "/x%2Fy.png", "/x\\y.png", "/x y.png", "/é.png", "http://h/x.png",
        ] {
            #expect(site.target(path) == nil, "\(path)")
        }
    }
}
