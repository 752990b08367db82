import BrokerModel
import Hummingbird
import Operations
import Testing

@testable import SluiceDashboard
@testable import SluiceOperator

@Suite("Doctor in the dashboard", .timeLimit(.minutes(60)))
struct DoctorTests {
    private let desk = Desk()

    /// The findings as a person with this role sees them.
    private func page(_ diagnoses: [Diagnosis], as role: Role = .admin) async -> String {
        let visit = Visit(
            site: desk.site,
            visitor: Visitor(name: "ann", role: role),
            reading: await desk.site.loop.current(),
            parameters: Parameters(),
            query: FormFields(""),
            link: desk.site.links.to("doctor"),
            theme: .system
        )
        var chart = Chart()
        for diagnosis in diagnoses { chart.add(diagnosis) }
        var coverage = Doctor.Coverage()
        (coverage.queues, coverage.keys, coverage.entries) = (1, 2_000, 1)
        let start = ContinuousClock.now
        return DoctorFindings(
            chart: chart,
            coverage: coverage,
            start: start,
            end: start + .milliseconds(700),
            visit: visit
        ).markup.html
    }

    private func worker(_ id: WorkerID, _ snapshot: QueueSnapshot, since milliseconds: Int64) -> WorkerRow {
        let info = WorkerInfo(name: "w<1>", host: "h1")
        let ended = snapshot.time - milliseconds
        return WorkerRow(worker: "\(id)", leaseUntil: ended, beatAt: ended, inFlight: 2, info: info.encoded())
    }

    @Test("A lost worker has its name, the time in words, and links to its page and to what it holds")
    func lost() async throws {
        let id = WorkerID()
        var snapshot = QueueSnapshot(queue: "mail", time: 1_800_000_000_000)
        snapshot.workers = [worker(id, snapshot, since: 305_000)]
        var audit = QueueAudit(queue: "mail", time: snapshot.time, workerCount: 1)
        audit.workers = [QueueAudit.Worker(id: "\(id)", leaseUntil: snapshot.time - 305_000, held: 2)]
        let text = await page(QueueExamination(audit: audit, snapshot: snapshot).diagnoses)
        #expect(
            text.contains(
                "worker w&lt;1&gt; was lost 5m5s ago and still holds 2 operations: no live worker can recover"
            )
        )
        #expect(text.contains("href=\"/workers/show?id=\(id)\">worker w&lt;1&gt;<"))
        #expect(text.contains("href=\"/ops?state=executing&amp;q=worker%3A\(id)\""))
        #expect(text.contains("href=\"/queues/show?queue=mail\">queue mail<"))
        // A worker cannot be started from here.
        #expect(text.contains(" worker -q mail<"))
        #expect(text.contains("took 0.7s, looked at 1 queue, 2,000 keys and 1 entry."))
    }

    @Test("A paused queue is resumed by a button, and by a command for a person without the right")
    func paused() async throws {
        var snapshot = QueueSnapshot(queue: "mail", time: 1_800_000_000_000)
        (snapshot.paused, snapshot.counts) = (true, [.ready: 3])
        let audit = QueueAudit(queue: "mail", time: snapshot.time, workerCount: 0)
        let found = QueueExamination(audit: audit, snapshot: snapshot).diagnoses
        let text = await page(found)
        #expect(text.contains("href=\"/queues/resume?queue=mail\">Resume queue mail<"))
        #expect(text.contains("href=\"/ops?state=ready&amp;q=queue%3Amail\""))
        #expect(!text.contains(" queue resume mail<"))
        let viewed = await page(found, as: .viewer)
        #expect(viewed.contains(" queue resume mail<") && !viewed.contains("/queues/resume"))
    }

    @Test("Operations, schedules and changes are linked; an operation without a record is not")
    func objects() async throws {
        let id = OperationID()
        func finding(_ code: String, _ subject: String) -> Diagnosis {
            Diagnosis(AuditFinding(code: code, queue: "mail", subject: subject, detail: "a detail"))
        }
        let operation = "href=\"/ops/\(id)?queue=mail\""
        #expect(await page([finding("lost", "\(id)")]).contains(operation))
        let gone = await page([finding("noRecord", "\(id)")])
        #expect(!gone.contains(operation) && gone.contains("href=\"/queues/show?queue=mail\""))
        #expect(await page([finding("noLease", "\(id)")]).contains("href=\"/workers/show?id=\(id)\""))
        let schedule = Diagnosis(.error, "overdue", queue: "mail", "a b", "is late").about(
            .schedule("a b", queue: "mail")
        )
        #expect(await page([schedule]).contains("href=\"/schedules/show?queue=mail&amp;id=a%20b\""))
        let change = Diagnosis(.warning, "changeWaits", "\(id)", "waits").about(.change(id))
        #expect(await page([change]).contains("href=\"/changes/\(id)\""))
        let setting = Diagnosis(.error, "eviction", "maxmemory-policy", "deletes")
        #expect(await page([setting]).contains("<span class=\"dim\">maxmemory-policy</span>"))
    }
}
