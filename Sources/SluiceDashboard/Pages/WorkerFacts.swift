import Operations
import SluiceOperator
import TerminalText

/// A name and its value in a list of facts.
enum FactLine {
    static func markup(_ name: String, @MarkupBuilder _ value: () -> Markup) -> Markup {
        parts {
            tag("dt", text: name)
            tag("dd") { value() }
        }
    }
}

/// The facts about a running worker.
struct WorkerFacts {
    let worker: WorkerSummary
    let now: Int64
    let links: Links

    var markup: Markup {
        tag("section", .class("panel")) {
            tag("dl", .class("facts")) {
                FactLine.markup("id") { tag("span", .class("id"), text: worker.id) }
                if let info = worker.info { process(info) }
                FactLine.markup("queues") { queues }
                settings
                FactLine.markup("heartbeat") {
                    Measure.milliseconds(worker.beatAgeMilliseconds) + " ago"
                }
                FactLine.markup("lease") {
                    worker.leaseMilliseconds > 0
                        ? "for \(Measure.milliseconds(worker.leaseMilliseconds)) more" : "has run out"
                }
                if let info = worker.info { counters(info) }
            }
        }
    }

    @MarkupBuilder private func process(_ info: WorkerInfo) -> Markup {
        FactLine.markup("process") { "\(info.host) pid \(info.pid)" }
        FactLine.markup("version") { info.version }
        if let build = info.build { FactLine.markup("build") { build } }
        if worker.isLost {
            FactLine.markup("started") { TimeView.markup(info.startedAt, now: now) }
        } else {
            FactLine.markup("up for") { DurationText.short(.milliseconds(max(0, now - info.startedAt))) }
        }
        FactLine.markup("memory") { QuantityText.bytes(info.residentBytes) }
        FactLine.markup("slots") { QuantityText.grouped(info.slots) }
        FactLine.markup("handles") { info.handles.joined(separator: ", ") }
    }

    private var queues: Markup {
        parts {
            for queue in worker.servedQueues {
                tag("a", .href(links.to("ops", query: ["q": QueryText.term("queue", queue)])), text: queue)
                " "
            }
        }
    }

    @MarkupBuilder private var settings: Markup {
        if let course = worker.settings.course {
            FactLine.markup("set to \(course.value.rawValue)") { trace(course.at, course.by) }
        }
        if let slots = worker.settings.slots {
            FactLine.markup("set to \(QuantityText.grouped(slots.value)) slots") { trace(slots.at, slots.by) }
        }
    }

    private func trace(_ at: Int64, _ by: String) -> Markup {
        parts {
            TimeView.markup(at, now: now)
            " by \(by)"
        }
    }

    @MarkupBuilder private func counters(_ info: WorkerInfo) -> Markup {
        FactLine.markup("finished") { QuantityText.grouped(info.finished) }
        FactLine.markup("failed attempts") { QuantityText.grouped(info.failed) }
        FactLine.markup("cancelled") { QuantityText.grouped(info.cancelled) }
        if info.malformed > 0 { FactLine.markup("unreadable") { QuantityText.grouped(info.malformed) } }
        if let stuck = info.stuck, stuck > 0 {
            FactLine.markup("still run after their end") { QuantityText.grouped(stuck) }
        }
    }
}
