import BrokerModel
import Operations
import SluiceOperator
import Testing

@testable import SluiceDashboard

@Suite("Workers in the dashboard", .timeLimit(.minutes(60)))
struct WorkerTests {
    private let desk = Desk()
    private let worker = WorkerID()

    /// Starts a worker that runs one operation.
    private func start(lease: Int64 = 3_600_000) async throws -> OperationID {
        let id = try await desk.enqueue("Send")[0]
        _ = try desk.broker.beat(
            Beat(worker: worker, epoch: 1, leaseMilliseconds: lease, intervalMilliseconds: 5_000, info: []),
            queue: "mail"
        )
        _ = try await desk.broker.claim(ClaimRequest(worker: worker, epoch: 1, capacity: 1), queue: "mail")
        return id
    }

    private func settings() async throws -> WorkerSettings {
        try await desk.broker.snapshot(queue: "mail", executingRows: 0).workers[0].settings
    }

    /// Starts an operation and completes it.
    private func finish() async throws -> OperationID {
        let id = try await start()
        let fence = try #require(try await desk.detail(id)).record.fence
        let completion = Completion(fence: fence, id: id, tracked: true)
        _ = try await desk.broker.complete([completion], isRepeat: false, worker: worker, thenClaim: nil, queue: "mail")
        return id
    }

    @Test("The page of a worker shows what it runs, by its id and by the end of it")
    func page() async throws {
        let id = try await start()
        for text in ["\(worker)", String("\(worker)".suffix(6))] {
            let page = try await desk("/workers/show?id=\(text)").text
            #expect(page.contains("\(worker)") && page.contains("/ops/\(id)?queue=mail") && page.contains("<svg"))
        }
        #expect(try await desk("/workers").text.contains("/workers/show?id=\(worker)"))
    }

    @Test("All workers of a host are made quiet and stopped, those of other hosts are not")
    func hosts() async throws {
        let other = WorkerID()
        for (worker, host) in [(worker, "h<1>"), (WorkerID(), "h<1>"), (other, "h2")] {
            try desk.beat(worker, host: host)
        }
        let list = try await desk("/workers").text
        #expect(list.contains("/workers/hosts/stop?host=h%3C1%3E") && list.contains("/workers/hosts/quiet?host=h2"))
        #expect(list.contains("Stop: what runs has the drain timeout of its worker to end"))
        let question = try await desk("/workers/hosts/stop?host=h%3C1%3E")
        #expect(question.status == 200 && question.text.contains("workers stop --host &#39;h&lt;1&gt;&#39;"))
        #expect(try await desk("/workers/hosts/stop?host=h%3C1%3E", .post, as: .operate).status == 403)
        #expect(try await desk("/workers/hosts/quiet?host=h%3C1%3E", .post, as: .operate).status == 303)
        #expect(try await desk("/workers/hosts/quiet?host=h%3C1%3E", .post).status == 409)
        #expect(try await desk("/workers/hosts/stop?host=h%3C1%3E", .post).location == "/workers?outcome=hostAsked")
        #expect(try await desk("/workers/hosts/stop?host=none", .post).status == 404)
        let rows = try await desk.broker.snapshot(queue: "mail", executingRows: 0).workers
        for row in rows { #expect((row.settings.course?.value == .stop) == (row.worker != other.description)) }
    }

    @Test("The page of a worker draws and lists what it has ended, and nothing that another one ended")
    func ended() async throws {
        let id = try await finish()
        let other = try desk.beat()
        for (worker, has) in [(worker, true), (other, false)] {
            let page = try await desk("/workers/show?id=\(worker)").text
            #expect(page.contains("Ended operations") == has && page.contains("/ops/\(id)?queue=mail") == has)
        }
        #expect(try await desk("/ops/\(id)?queue=mail").text.contains("ran on"))
    }

    @Test("A request to a worker of several queues is listed once, and a queue with too many workers proves no end")
    func requestsOfQueues() async throws {
        for queue in ["a", "b", "mail"] { try desk.beat(worker, queue: queue) }
        await desk.site.loop.expire()
        #expect(try await desk("/workers/stop?id=\(worker)", .post).status == 303)
        for queue in ["a", "b", "mail"] {
            try await desk.broker.retire(worker: worker, statistics: [], queue: queue)
        }
        await desk.site.loop.expire()
        let path = "/workers/show?id=\(worker)"
        let page = try await desk(path).text
        #expect(page.contains("This worker has ended:") && page.matches(of: /<td[^>]*>ann</).count == 1, "\(page)")
        for _ in 0..<QueueSnapshot.workerLimit { try desk.beat(queue: "other") }
        await desk.site.loop.expire()
        let other = try await desk(path).text
        #expect(other.contains("It may run: of each queue, 200 workers are read."))
        #expect(!other.contains("This worker has ended"))
    }

    @Test("A worker that has stopped has a page with what the dashboard saw of it and the requests to it")
    func stopped() async throws {
        let id = try await finish()
        try desk.beat(worker, name: "w<1>")
        await desk.site.loop.expire()
        #expect(try await desk("/workers/stop?id=\(worker)", .post).status == 303)
        #expect(try await !desk("/workers/show?id=\(worker)").text.contains("This worker has ended"))
        try await desk.broker.retire(worker: worker, statistics: [], queue: "mail")
        await desk.site.loop.expire()
        let page = try await desk("/workers/show?id=\(worker)")
        #expect(page.status == 200 && page.text.contains("This worker has ended"))
        #expect(page.text.contains("Ended operations") && page.text.contains("/ops/\(id)?queue=mail"))
        #expect(page.text.contains("<h1>w&lt;1&gt;</h1>") && page.text.contains("/queues/show?queue=mail"))
        #expect(page.text.contains("stop") && page.text.contains(">ann<"))
        #expect(try await desk("/events").text.contains("href=\"/workers/show?id=\(worker)\""))
        // Another dashboard has not seen it, and the id alone says nothing of a worker.
        let other = try await Desk()("/workers/show?id=\(worker)").text
        #expect(other.contains("No worker has this id now.") && !other.contains("This worker has ended"))
    }

    @Test("Overview, list and page of a lost worker say the same of its operations, and whether a live worker is there")
    func lost() async throws {
        _ = try await start()
        try desk.beat(worker, lease: 1)
        while try await !desk.broker.snapshot(queue: "mail", executingRows: 0).liveWorkers.isEmpty {
            await Task.yield()
        }
        for isServed in [false, true] {
            if isServed { try desk.beat() }
            await desk.site.loop.expire()
            let text =
                isServed ? "a live worker will recover its 1 operation" : "no live worker can recover its 1 operation"
            for path in ["/", "/workers", "/workers/show?id=\(worker)"] {
                #expect(try await desk(path).text.contains(text), "\(path)")
            }
            let page = try await desk("/workers/show?id=\(worker)").text
            #expect(page.contains(" worker -q mail<") == !isServed)
            #expect(page.contains("/workers/stop?id=") && !page.contains("/workers/quiet?id="))
            let list = try await desk("/ops?state=executing").text
            #expect(list.contains(/class="about dead"[^>]*>LOST, to recover</))
        }
    }

    @Test("The list and the page of a worker have its build, as plain text")
    func build() async throws {
        let info = WorkerInfo(
            host: "h1",
            pid: 7,
            name: "w1",
            slots: 1,
            queues: ["mail"],
            handles: [],
            version: "1",
            build: "2026.11.3 <b>",
            startedAt: 0
        )
        var beat = Beat(worker: worker, epoch: 1, leaseMilliseconds: 3_600_000, intervalMilliseconds: 5_000, info: [])
        beat.info = info.encoded()
        _ = try desk.broker.beat(beat, queue: "mail")
        for path in ["/workers", "/workers/show?id=\(worker)"] {
            #expect(try await desk(path).text.contains("2026.11.3 &lt;b&gt;"), "\(path)")
        }
        let list = try JSONValue(parsing: try await desk("/api/v1/workers").text)
        #expect(list["workers"]?.arrayValue?.first?["build"]?.stringValue == "2026.11.3 <b>")
    }

    @Test("A worker is made quiet, resumed, resized and stopped, and Redis has the name of the person")
    func requests() async throws {
        _ = try await start()
        func send(_ action: String, form: String? = nil) async throws -> Desk.Answer {
            let question = try await desk("/workers/\(action)?id=\(worker)")
            #expect(question.status == 200 && question.text.contains("method=\"post\""), "\(action)")
            let answer = try await desk("/workers/\(action)?id=\(worker)", .post, form: form)
            #expect(answer.status == 303 && answer.location.hasSuffix("outcome=workerAsked"), "\(action) \(answer)")
            return answer
        }
        let answer = try await send("quiet")
        #expect(try await desk(answer.location).text.contains("class=\"notice good\""))
        #expect(try await settings().course?.value == .quiet)
        #expect(try await settings().course?.by == "ann")
        #expect(try await desk("/workers/quiet?id=\(worker)").status == 409)
        _ = try await send("resume")
        #expect(try await settings().course?.value == .running)
        _ = try await send("slots", form: "slots=7")
        #expect(try await settings().slots?.value == 7)
        _ = try await send("stop")
        #expect(try await settings().course?.value == .stop)
        // A question that was opened before the stop does not take it back.
        for action in ["resume", "quiet"] {
            #expect(try await desk("/workers/\(action)?id=\(worker)", .post).status == 409)
        }
        #expect(try await settings().course?.value == .stop)
    }

    @Test(
        "A wrong number of slots and an unknown worker change nothing",
        arguments: ["", "0", "-1", "10001", "x", "1e3"]
    )
    func wrong(_ slots: String) async throws {
        _ = try await start()
        #expect(try await desk("/workers/slots?id=\(worker)", .post, form: "slots=\(slots)").status == 400)
        #expect(try await desk("/workers/stop?id=none", .post).status == 404)
        #expect(try await desk("/workers/stop", .post).status == 404)
        #expect(try await settings().isEmpty)
        #expect(try await desk("/workers/show?id=%3Cb%3E").status == 404)
    }

    @Test(
        "An operator makes workers quiet, but stops and resizes none; a viewer does nothing; read-only has no address"
    )
    func roles() async throws {
        _ = try await start()
        for action in WorkerAction.allCases {
            let path = "/workers/\(action.rawValue)?id=\(worker)"
            #expect(try await desk(path, .post, as: .viewer, form: "slots=2").status == 403)
            #expect(try await desk(path, as: .viewer).status == 403)
            let status = try await Desk(isReadOnly: true)(path, .post, form: "slots=2").status
            #expect([404, 405].contains(status))
        }
        for action in ["stop", "slots"] {
            #expect(
                try await desk("/workers/\(action)?id=\(worker)", .post, as: .operate, form: "slots=2").status == 403
            )
        }
        #expect(try await settings().isEmpty)
        #expect(try await desk("/workers/quiet?id=\(worker)", .post, as: .operate).status == 303)
        #expect(try await !desk("/workers/show?id=\(worker)", as: .viewer).text.contains("/workers/quiet"))
    }
}
