import Foundation
import Hummingbird
import Operations
import Selectors
import Sluice
import SluiceOperator
import TerminalText

/// The JSON of the commands that show parts of a namespace.
struct ReadRoutes: Sendable {
    /// The most operations to read for groups, errors and a graph.
    private static let scanLimit = 100_000
    private static let graphLimit = 1_000
    private static let lostRows = 20

    let site: Site

    func add(to api: RouterGroup<DashboardContext>) {
        api.get("queues") { request, _ in
            let snapshot = try await board().snapshot
            return Response.json(
                [
                    "v": 1, "queues": .array(snapshot.queues.map(StatsJSON.queue)),
                    "absentNodes": AbsentNode.json(snapshot.absent),
                ],
                for: request
            )
        }
        api.get("workers") { request, _ in
            let board = try await board()
            return Response.json(
                [
                    "v": 1, "workers": .array(board.workers.map { WorkerJSON.object($0) }),
                    "lost": .array(board.lost.map(WorkerJSON.object)),
                    "absentNodes": AbsentNode.json(board.snapshot.absent),
                ],
                for: request
            )
        }
        api.get("schedules") { request, _ in Response.json(try await schedules(), for: request) }
        api.get("groups") { request, _ in Response.json(try await groups(request.fields), for: request) }
        api.get("errors") { request, _ in Response.json(try await errors(request.fields), for: request) }
        api.get("events") { request, _ in Response.json(try await events(request.fields), for: request) }
        api.get("doctor") { request, _ in Response.json(try await doctor(), for: request) }
        api.get("statistics") { request, _ in Response.json(try await statistics(request.fields), for: request) }
        api.get("graph/:id") { request, context in
            let id = try context.parameters.name("id")
            let finder = OperationFinder(broker: site.broker)
            let detail = try await finder.find(id, queue: request.fields["queue"])
            let graph = try await site.broker.graph(of: detail.id, queue: detail.queue, limit: Self.graphLimit)
            guard let graph else { throw PageFailure.notFound("The operation was removed while its graph was read.") }
            return Response.json(graph.json(of: detail, try await site.broker.estimate(of: graph)), for: request)
        }
    }

    private func board() async throws -> Board {
        let reading = await site.loop.current()
        guard let board = reading.board, reading.failure == nil else {
            throw PageFailure.unavailable(reading.failure ?? "no data has been read yet")
        }
        return board
    }

    private func walk(_ words: [String]) throws -> ListWalk {
        ListWalk(
            site.broker,
            try OperationQuery(parsing: words.joined(separator: " ")),
            view: site.options.view,
            limit: .max,
            scanLimit: Self.scanLimit,
            leavesOutAbsent: true,
            countsAll: true
        )
    }

    private func schedules() async throws -> JSONValue {
        let found = try await site.client.schedules.all()
        return ["v": 1, "schedules": .array(found.map(ScheduleJSON.object))]
    }

    private func groups(_ fields: FormFields) async throws -> JSONValue {
        let states: [OperationState] =
            [.blocked] + (fields["all"] == nil ? [] : OperationState.allCases.filter(\.isTerminal))
        let walk = try walk(["state:" + states.map(\.rawValue).joined(separator: ","), "name:\(GroupTerms.name)"])
        var groups: [GroupSummary] = []
        _ = try await walk.run(from: nil) { groups += $0.compactMap { GroupSummary($0) }.filter { !$0.terms.isOfRun } }
        return ["v": 1, "groups": .array(groups.map { GroupJSON.object($0, site.options.view) })]
    }

    private func errors(_ fields: FormFields) async throws -> JSONValue {
        let limit = try fields.number("limit", 1...1_000) ?? 50
        let query = try QueryText.parse(fields["q"] ?? "")
        let reading = try await ErrorReading.read(
            site.broker,
            query,
            view: site.options.view,
            scanLimit: Self.scanLimit
        )
        let groups = reading.groups
        return groups.json(RowReport(Array(groups.sorted.prefix(limit))).json, reading.result)
    }

    /// The newest stored events, oldest first.
    private func events(_ fields: FormFields) async throws -> JSONValue {
        let since = try fields.duration("since") ?? .seconds(3_600)
        let limit = try fields.number("limit", 1...1_000) ?? 200
        let filter = try EventFilter(fields["q"].map { [$0] } ?? [], onlyChanges: fields["changes"] != nil)
        let newest = NewestEvents(limit: limit, filter: filter)
        try await newest.read(site.broker, since: since)
        let events = newest.items.reversed().compactMap { item -> JSONValue? in
            guard case .batch(let batch, let at) = item else { return nil }
            let rows = batch.transitions.map { EventRow($0, nil, of: batch.change) }
            return EventJSON.object(batch, rows, changed: batch.subject, at: at)
        }
        return ["v": 1, "events": .array(events)]
    }

    private func doctor() async throws -> JSONValue {
        guard let broker = site.broker as? any Doctor.Broker else {
            throw PageFailure.notFound("This broker cannot be examined.")
        }
        var doctor = Doctor(broker, budget: .short) { _ in }
        try await doctor.run()
        return DoctorReport(
            chart: doctor.chart,
            coverage: doctor.coverage,
            namespace: site.options.namespace,
            isDeep: false
        ).json
    }

    private func statistics(_ fields: FormFields) async throws -> JSONValue {
        let span = try StatisticsSpan(since: try fields.duration("since") ?? .seconds(3_600), from: .hour)
        let reader = try await StatisticsReader(site.broker, fields["queue"].map { [$0] } ?? [])
        let statistics = try await reader.names(span)
        let rows = NameStatisticsRow.sorted(statistics.rows, by: .count)
        let shown = Array(rows.prefix(try fields.number("limit", 1...1_000) ?? 100))
        let time = statistics.time ?? Int64(Date().timeIntervalSince1970 * 1000)
        let names = NameStatisticsRow.report(shown, isCompared: false).json
        return NameStatisticsRow.json(
            names,
            of: rows.count,
            span,
            at: time,
            namespace: site.options.namespace,
            absent: statistics.absent
        )
    }
}

extension FormFields {
    /// A whole number within bounds; nil = absent.
    fileprivate func number(_ name: String, _ range: ClosedRange<Int>) throws(PageFailure) -> Int? {
        guard let text = self[name] else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw .badRequest("\(name) is \(text); expected \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// A time such as `10m`; nil = absent.
    fileprivate func duration(_ name: String) throws(PageFailure) -> Duration? {
        guard let text = self[name] else { return nil }
        do { return try DurationText.parse(text) } catch { throw .badRequest("\(name): \(error.message)") }
    }
}
