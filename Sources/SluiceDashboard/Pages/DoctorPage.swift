import Operations
import SluiceOperator
import TerminalText

/// The findings of an examination. The examination runs only when the visitor asks for it.
struct DoctorPage {
    let visit: Visit
    private var report: DoctorFindings?

    init(_ visit: Visit) async throws {
        self.visit = visit
        guard visit.query["run"] != nil else { return }
        guard let broker = visit.site.broker as? any Doctor.Broker else {
            throw PageFailure.notFound("This broker cannot be examined.")
        }
        let start = ContinuousClock.now
        var doctor = Doctor(broker, budget: .short) { _ in }
        try await doctor.run()
        report = DoctorFindings(chart: doctor.chart, coverage: doctor.coverage, start: start, visit: visit)
    }

    var content: PageContent {
        var page = PageContent("Doctor", .doctor, command: ["doctor"], isLive: false) {
            tag("div", .class("title")) {
                tag("h1", text: "Doctor")
                tag("div", .class("actions")) {
                    tag(
                        "a",
                        .class("button"),
                        .href(visit.links.to("doctor", query: ["run": "now"])),
                        text: report == nil ? "Examine now" : "Examine again"
                    )
                }
            }
            if let report {
                report.markup
            } else {
                Empty.markup(
                    "The doctor looks for lost or duplicated operations, wrong counters, leases and settings of Redis. "
                        + "It changes nothing, and confirms each finding twice."
                )
            }
        }
        page.readAt = report?.end
        return page
    }
}

/// The findings of one examination, with links to what they are about and with remedies.
struct DoctorFindings {
    let chart: Chart
    let coverage: Doctor.Coverage
    let start: ContinuousClock.Instant
    var end = ContinuousClock.now
    let visit: Visit

    @MarkupBuilder var markup: Markup {
        tag("p", .class("dim"), text: summary)
        if chart.sorted.isEmpty { Notice.markup(.good, "Nothing is wrong.") }
        tag("div", .class("stack")) { chart.sorted.map(finding) }
        for (kind, count) in chart.more {
            tag("p", .class("dim")) {
                "\(QuantityText.grouped(count)) more of the kind \(kind.code)"
                if let queue = kind.queue {
                    " in queue "
                    QueuePage.anchor(queue, visit.links)
                }
            }
        }
    }

    /// `Examined at 12:03:04 UTC, took 0.7s, looked at 3 queues, 120 keys and 40 entries.`
    private var summary: String {
        let at = visit.reading.board?.time(at: end).map { "at \(TimeText.clock($0)) UTC, " } ?? ""
        let took = DurationText.precise(end - start)
        return "Examined \(at)took \(took), looked at \(counted(coverage.queues, "queue", "queues")), "
            + "\(counted(coverage.keys, "key", "keys")) and \(counted(coverage.entries, "entry", "entries"))."
    }

    private func counted(_ count: Int, _ one: String, _ many: String) -> String {
        "\(QuantityText.grouped(count)) \(count == 1 ? one : many)"
    }

    private func finding(_ diagnosis: Diagnosis) -> Markup {
        tag("section", .class("panel finding")) {
            tag("p", .class("about")) {
                tag("b", .class(diagnosis.severity.role.className), text: diagnosis.severity.rawValue)
                diagnosis.objects.isEmpty
                    ? tag("span", .class("dim"), text: diagnosis.subject)
                    : parts {
                        diagnosis.objects.map { object in tag("span") { DoctorLink.markup(object, visit.links) } }
                    }
            }
            tag("p", text: diagnosis.message)
            remedy(diagnosis)
        }
    }

    @MarkupBuilder private func remedy(_ diagnosis: Diagnosis) -> Markup {
        if diagnosis.repair != nil {
            CommandLineView(visit.site).markup(text: Diagnosis.command, label: diagnosis.repair)
        } else if let page = page(diagnosis) {
            // A page that only shows something is linked above.
            if page.isChange { tag("div", .class("remedies")) { page.markup } }
        } else if let fix = diagnosis.fix {
            // A remedy in words is nothing to copy.
            if ["\(Program.name) ", "redis-cli "].contains(where: fix.hasPrefix) {
                CommandLineView(visit.site).markup(text: fix, label: "try")
            } else {
                tag("p", .class("dim"), text: "try: " + fix)
            }
        }
    }

    /// The page of the dashboard that does the remedy.
    private func page(_ diagnosis: Diagnosis) -> RemedyLink? {
        guard let remedy = diagnosis.remedy else { return nil }
        return RemedyLink(Explanation.Advice(remedy: remedy, queue: diagnosis.queue ?? ""), on: nil, visit)
    }
}

/// The link of an object that a finding is about.
enum DoctorLink {
    static func markup(_ object: Diagnosis.Object, _ links: Links) -> Markup {
        switch object {
        case .queue(let queue): link("queue \(queue)", QueuePage.link(queue, links))
        case .operation(let address):
            parts {
                "operation "
                OperationLink.markup(address.id, queue: address.queue, links)
            }
        case .operations(let queue, let state, let name):
            link(
                [state?.rawValue, "operations", name].compactMap { $0 }.joined(separator: " "),
                links.to(
                    "ops",
                    query: [
                        "state": state?.rawValue,
                        "q": [QueryText.term("queue", queue), name.map { QueryText.term("name", $0) }]
                            .compactMap { $0 }.joined(separator: " "),
                    ]
                )
            )
        case .worker(let worker): link("worker \(worker.label)", WorkerLink.to(worker.id, links))
        case .held(let worker):
            link(
                "operations that it holds",
                links.to("ops", query: ["state": "executing", "q": QueryText.term("worker", worker.id)])
            )
        case .schedule(let id, let queue):
            link("schedule \(id) in queue \(queue)", links.to("schedules", "show", query: ["queue": queue, "id": id]))
        case .change(let id): link("change \(id)", links.to("changes", id.description))
        }
    }

    private static func link(_ text: String, _ link: Link) -> Markup { tag("a", .href(link), text: text) }
}
