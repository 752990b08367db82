import Operations
import SluiceOperator
import TerminalText

/// The findings of an examination. The examination runs only when the visitor asks for it.
struct DoctorPage {
    let visit: Visit
    private let doctor: Doctor?

    init(_ visit: Visit) async throws {
        self.visit = visit
        guard visit.query["run"] != nil else {
            doctor = nil
            return
        }
        guard let broker = visit.site.broker as? any Doctor.Broker else {
            throw PageFailure.notFound("This broker cannot be examined.")
        }
        var doctor = Doctor(broker, budget: .short) { _ in }
        try await doctor.run()
        self.doctor = doctor
    }

    var content: PageContent {
        PageContent("Doctor", .doctor, command: ["doctor"], isLive: false) {
            tag("div", .class("title")) {
                tag("h1", text: "Doctor")
                tag("div", .class("actions")) {
                    tag(
                        "a",
                        .class("button"),
                        .href(visit.links.to("doctor", query: ["run": "now"])),
                        text: doctor == nil ? "Examine now" : "Examine again"
                    )
                }
            }
            if let doctor {
                report(doctor)
            } else {
                Empty.markup(
                    "The doctor looks for lost or duplicated operations, wrong counters, leases and settings of Redis. "
                        + "It changes nothing, and looks at each finding three times."
                )
            }
        }
    }

    @MarkupBuilder private func report(_ doctor: Doctor) -> Markup {
        let coverage = doctor.coverage
        tag("p", .class("dim")) {
            "Looked at \(QuantityText.grouped(coverage.queues)) queues, \(QuantityText.grouped(coverage.keys)) keys and "
                + "\(QuantityText.grouped(coverage.entries)) entries."
        }
        if doctor.chart.sorted.isEmpty { Notice.markup(.good, "Nothing is wrong.") }
        tag("div", .class("stack")) { doctor.chart.sorted.map(finding) }
        for (kind, count) in doctor.chart.more {
            tag(
                "p",
                .class("dim"),
                text: "\(QuantityText.grouped(count)) more of the kind \(kind.code)"
                    + (kind.queue.map { " in queue \($0)" } ?? "")
            )
        }
    }

    /// The queue and the object of a finding, each once.
    private func place(_ diagnosis: Diagnosis) -> String {
        let queue = diagnosis.queue.map { "queue \($0)" }
        guard diagnosis.queue != diagnosis.subject else { return queue ?? "" }
        return [queue, diagnosis.subject].compactMap { $0 }.joined(separator: ", ")
    }

    private func finding(_ diagnosis: Diagnosis) -> Markup {
        tag("section", .class("panel")) {
            tag("p") {
                tag("b", .class(diagnosis.severity.className), text: diagnosis.severity.rawValue)
                " " + place(diagnosis)
            }
            tag("p", text: diagnosis.message)
            if diagnosis.repair != nil {
                CommandLineView.markup(text: Diagnosis.command, label: diagnosis.repair)
            } else if let fix = diagnosis.fix {
                // A remedy in words is nothing to copy.
                if ["\(Program.name) ", "redis-cli "].contains(where: fix.hasPrefix) {
                    CommandLineView.markup(text: fix, label: "try")
                } else {
                    tag("p", .class("dim"), text: "try: " + fix)
                }
            }
        }
    }
}

extension Diagnosis.Severity {
    fileprivate var className: String {
        switch self {
        case .error: "dead"
        case .warning: "warning"
        case .note: "dim"
        }
    }
}
