import Operations
import Selectors
import SluiceOperator
import TerminalText

/// Dead and retrying operations, grouped by the signature of their last error.
struct ErrorsPage {
    private static let shown = 100
    /// The most operations to read.
    private static let scanLimit = 100_000
    /// Reading all failed operations again each second would load Redis.
    private static let age = Duration.seconds(10)

    let visit: Visit
    /// The text in the query box.
    private let typed: String
    private let span: PageSpan
    private var error: String?
    private var reading = ErrorReading()
    private var failures: StatisticsSeries?

    init(_ visit: Visit) async throws {
        self.visit = visit
        typed = visit.query["q"] ?? ""
        span = try PageSpan(visit)
        do { try await read() } catch let failure as QueryError { error = "\(failure)" } catch let failure
            as LookupFailure
        {
            error = ([failure.description] + failure.notes).joined(separator: "; ")
        }
    }

    private mutating func read() async throws {
        let query = try QueryText.parse(typed)
        let (broker, view, limit) = (visit.site.broker, visit.view, Self.scanLimit)
        reading = try await visit.site.cache.value("errors \(typed)", age: Self.age) {
            try await ErrorReading.read(broker, query, view: view, scanLimit: limit)
        }
        // Statistics do not know the terms of a query.
        guard typed.isEmpty else { return }
        let statistics = try span.statistics(from: .minute).query
        failures = try await visit.site.cache.value("all \(span)", age: Self.age) {
            try await StatisticsReader(broker, []).series(statistics)
        }
    }

    var content: PageContent {
        PageContent("Errors", .errors, command: command, isLive: false) {
            tag("div", .class("title")) {
                tag("h1", text: "Errors")
                if typed.isEmpty { span.links { visit.links.to("errors", query: ["span": $0.rawValue]) } }
            }
            search
            if let error { Notice.markup(.bad, error) }
            for sentence in reading.result.unknownQueues { Notice.markup(.warning, sentence) }
            for node in reading.result.absent { Notice.markup(.warning, node.sentence) }
            if error == nil {
                overTime
                list
            }
        }
    }

    private var command: [String] { ["errors"] + (typed.isEmpty ? [] : [typed]) + ["--limit", "\(Self.shown)"] }

    private var search: Markup {
        SearchForm.markup("errors", typed: typed, placeholder: "queue:mail name:Send* age:<1h state:dead", visit.links)
    }

    @MarkupBuilder private var overTime: Markup {
        if let failures {
            tag("section") {
                StatisticsCharts(series: failures, marks: marks(failures))
                    .failures("Failed attempts of all queues, \(PeriodText.each(failures))", id: "failures")
            }
            MarkList.markup("Starts of workers", marks(failures))
        }
    }

    private func marks(_ series: StatisticsSeries) -> [ChartData.Mark] {
        WorkerStart.marks(WorkerStart.all(visit.reading.board) { _ in true }, in: series)
    }

    // MARK: Groups

    private static let columns = [
        "Error", "Count", "Dead", "Retrying", "First", "Last", "Names", "Queues", "Sample", "",
    ]

    private var list: Markup {
        let groups = reading.groups.sorted
        return tag("section") {
            tag("h2", text: "Dead and retrying operations by error")
            if groups.isEmpty {
                Empty.markup(
                    typed.isEmpty ? "No operation is dead or retrying." : "No dead or retrying operation matches."
                )
                tag("p", .class("dim"), text: Self.whereOthersAre)
            } else {
                TableView.markup("Errors", Self.columns, groups.prefix(Self.shown).map(row), classes: "errors")
            }
            tag("div", .class("under")) {
                note(groups.count)
                tag("a", .href(visit.link), text: "Read again")
            }
        }
    }

    private static let whereOthersAre =
        "Failed attempts of operations that have ended well since are only counted, in Performance. Their errors are "
        + "on the page of each operation, while it is kept."

    private func note(_ count: Int) -> String {
        var parts = ["\(QuantityText.grouped(reading.groups.operations)) operations with an error"]
        if count > Self.shown { parts.append("\(Self.shown) of \(QuantityText.grouped(count)) errors are shown") }
        if let coverage = reading.result.coverage { parts.append(coverage) }
        if count > 0 { parts.append("N = any number, \"…\" = any quoted text") }
        if reading.result.isCutShort { parts.append("there are more: name a queue or a state") }
        return parts.joined(separator: "; ")
    }

    private func row(_ group: ErrorGroup) -> [Cell] {
        let now = visit.reading.board?.snapshot.time
        return [
            Cell("Error", "name wide") {
                if let query = query(group) {
                    tag("a", .href(visit.links.to("ops", query: ["q": query])), text: group.signature)
                } else {
                    group.signature
                }
            },
            .count("Count", group.count),
            .count("Dead", group.dead, role: .dead),
            .count("Retrying", group.retrying, role: .warning),
            Cell("First") { TimeView.markup(group.first, now: now) }.minor,
            Cell("Last") { TimeView.markup(group.last, now: now) },
            .text("Names", group.names.sorted().joined(separator: ", ")),
            .text("Queues", group.queues.sorted().joined(separator: ", ")),
            Cell("Sample") { sample(group) },
            Cell("Change") { retry(group) },
        ]
    }

    @MarkupBuilder private func sample(_ group: ErrorGroup) -> Markup {
        if let sample = group.sample {
            OperationLink.markup(sample.id, queue: sample.queue, visit.links)
        }
    }

    /// The operations of the group; nil if its errors are many different ones.
    private func query(_ group: ErrorGroup) -> String? {
        guard group.isOne else { return nil }
        return ([typed] + (hasStates ? [] : ["state:dead,retrying"]) + [QueryText.term("signature", group.signature)])
            .filter { !$0.isEmpty }.joined(separator: " ")
    }

    private var hasStates: Bool { (try? QueryText.parse(typed))?.terms.contains { $0.field == .state } ?? false }

    @MarkupBuilder private func retry(_ group: ErrorGroup) -> Markup {
        if visit.may(.retry), let query = query(group) {
            tag(
                "a",
                .class("button"),
                .href(visit.links.to("changes", "new", query: ["action": "retry", "q": query])),
                .named("aria-label", "Retry all operations with the error \(group.signature)"),
                text: "Retry all"
            )
        }
    }
}
