import Operations
import SluiceOperator
import TerminalText

/// The queues of the namespace as a table.
struct QueueTable {
    let visit: Visit
    let board: Board
    /// The most rows; nil = all.
    var limit: Int?
    /// The order of the rows; nil = by name.
    var order: QueueOrder?

    var markup: Markup {
        let all = order?.sorted(board) ?? board.snapshot.queues
        let shown = limit.map { Array(all.prefix($0)) } ?? all
        return parts {
            all.isEmpty
                ? Empty.markup(
                    "No queue yet. The first operation makes one:",
                    command: (["enqueue", "noop"], visit.site)
                )
                : SortedTable.markup("Queues", columns, shown.map(row), classes: "queues")
            if shown.count < all.count {
                tag("p", .class("more")) {
                    tag("a", .href(visit.links.to("queues")), text: "All \(QuantityText.grouped(all.count)) queues")
                }
            }
        }
    }

    private var columns: [SortedTable.Column] {
        [
            .init("Queue", link: order == nil ? nil : visit.links.to("queues")), .init("State"), .init("Last 10 min"),
            sorted("Ready", by: .ready), sorted("Running", by: .running), sorted("Retrying", by: .retrying),
            sorted("Dead", by: .dead), sorted("Oldest", by: .oldest), .init("Done in", .number), .init("In/s", .number),
            .init("Out/s", .number), .init("Wait p95", .number), .init("Run p95", .number),
            sorted("Errors", by: .errors), sorted("Workers", by: .workers),
        ]
    }

    private func sorted(_ title: String, by order: QueueOrder) -> SortedTable.Column {
        let link = visit.links.to("queues", query: ["sort": order.rawValue])
        return SortedTable.Column(title, .number, link: link, isCurrent: order == self.order)
    }

    private func row(_ queue: QueueSnapshot) -> [Cell] {
        let rates = board.rates[queue.queue]
        let statistics = board.statistics.queues[queue.queue] ?? StatisticsBoard.Queue()
        let recent = statistics.recent
        let ended = Array(statistics.ended.suffix(10))
        return [
            Cell("Queue", "name") {
                tag(
                    "a",
                    .href(QueuePage.link(queue.queue, visit.links)),
                    text: queue.queue
                )
            },
            condition(queue),
            lastMinutes(ended),
            .count("Ready", queue.counts[.ready] ?? 0),
            running(queue),
            .count("Retrying", queue.counts[.retrying] ?? 0, role: .warning),
            .count("Dead", queue.counts[.dead] ?? 0, role: .dead),
            .measure("Oldest", Measure.milliseconds(queue.oldestReadyMilliseconds)),
            drain(queue),
            .measure("In/s", QuantityText.rate(rates.enqueued)).minor,
            .measure("Out/s", QuantityText.rate(rates.ended)).minor,
            .measure("Wait p95", Measure.duration(recent.wait.percentile(0.95))).minor,
            .measure("Run p95", Measure.duration(recent.run.percentile(0.95))).minor,
            .measure(
                "Errors",
                Measure.percent(recent.errorRate),
                role: StatisticsText.role(ofErrors: recent.errorRate)
            ),
            .count("Workers", queue.liveWorkers.count),
        ]
    }

    /// The ended attempts by minute. Each row has its own scale, so the sum stands beside the bars.
    private func lastMinutes(_ ended: [Double]) -> Cell {
        let sum = Int64(ended.reduce(0, +))
        let most = QuantityText.grouped(Int64(ended.max() ?? 0))
        return Cell("Last 10 min", "half recent") {
            BarChart.markup(
                ended,
                label: "\(QuantityText.grouped(sum)) ended attempts in 10 minutes, at most \(most) in a minute"
            )
            tag("span", .class(sum == 0 ? "dim" : ""), text: QuantityText.count(sum))
        }
    }

    private func condition(_ queue: QueueSnapshot) -> Cell {
        let conditions = QueueCondition.all(queue)
        let role = conditions.first?.role ?? (queue.liveWorkers.isEmpty ? .dim : .plain)
        return Cell("State", "half " + role.className) {
            conditions.isEmpty
                ? queue.liveWorkers.isEmpty ? QueueCondition.unserved.text : words(.running)
                : conditions.map(words).joined(separator: ", ")
            if queue.paused, let pause = queue.pause {
                tag("span", .class("detail")) {
                    "by \(pause.by), \(TimeText.relative(pause.at, now: queue.time))"
                    if !pause.reason.isEmpty { ": \(pause.reason)" }
                }
            }
        }
    }

    private func words(_ condition: QueueCondition) -> String {
        switch condition {
        case .running: "runs"
        case .paused(nil): "paused"
        case .paused(let left?): "paused, \(DurationText.short(.milliseconds(left))) left"
        default: condition.text
        }
    }

    private func drain(_ queue: QueueSnapshot) -> Cell {
        guard let drain = board.statistics.drain(queue) else { return .measure("Done in", "–") }
        return .measure("Done in", drain.text, role: drain.needsAttention ? .warning : .plain)
    }

    private func running(_ queue: QueueSnapshot) -> Cell {
        let count = queue.counts[.executing] ?? 0
        let limit = queue.limits.concurrency.map { "/" + QuantityText.grouped($0) } ?? ""
        let lost = queue.lostOperations
        let text = QuantityText.grouped(count) + limit
        guard lost > 0 else { return .measure("Running", text, role: count > 0 ? .executing : .dim) }
        guard lost < count else {
            return .measure("Running", text + (limit.isEmpty ? " lost" : ", all lost"), role: .dead)
        }
        return Cell("Running", "number executing") {
            text
            tag("small", .class("dead"), text: " \(QuantityText.grouped(lost)) lost")
        }
    }
}

/// Measured values as text.
enum Measure {
    static func milliseconds(_ value: Int64?) -> String {
        value.map { DurationText.precise(.milliseconds($0)) } ?? "–"
    }

    /// A duration in milliseconds with fractions.
    static func duration(_ milliseconds: Double?) -> String {
        milliseconds.map { DurationText.precise(.microseconds(Int64($0 * 1000))) } ?? "–"
    }

    static func percent(_ share: Double?) -> String { share.map(StatisticsText.percent) ?? "–" }
}

/// A sentence in place of an empty list.
enum Empty {
    /// - Parameter command: the words of a command that may help, and the dashboard that shows it.
    static func markup(_ text: String, command: (words: [String], site: Site)? = nil) -> Markup {
        tag("div", .class("empty")) {
            tag("p", text: text)
            if let command { CommandLineView(command.site).markup(command.words) }
        }
    }
}
