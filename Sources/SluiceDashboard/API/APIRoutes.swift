import Hummingbird
import Operations
import Selectors
import SluiceOperator

/// The JSON of the command line, over HTTP.
struct APIRoutes: Sendable {
    private static let pageSize = 50
    private static let largestPage = 1_000
    private static let scanLimit = 100_000

    let site: Site

    func add(to group: RouterGroup<DashboardContext>) {
        let api = group.group("api/v1")
        ReadRoutes(site: site).add(to: api)
        api.get("stats") { request, _ in
            let board = try await board()
            return Response.json(StatsJSON.object(board.snapshot, namespace: site.options.namespace), for: request)
        }
        api.get("operations") { request, _ in Response.json(try await list(request.fields), for: request) }
        api.get("operations/:id") { request, context in
            let detail = try await find(request, context)
            return Response.json(OperationJSON.object(detail, site.options.view), for: request)
        }
        api.get("operations/:id/explanation") { request, context in
            let detail = try await find(request, context)
            let reader = SituationReader(broker: site.broker, view: site.options.view)
            guard let explanation = try await reader.explain([detail]).first else {
                throw PageFailure.notFound("The queue of the operation is gone.")
            }
            return Response.json(explanation.json, for: request)
        }
    }

    private func board() async throws -> Board {
        let reading = await site.loop.current()
        guard let board = reading.board, reading.failure == nil else {
            throw PageFailure.unavailable(reading.failure ?? "no data has been read yet")
        }
        return board
    }

    private func find(_ request: Request, _ context: DashboardContext) async throws -> OperationDetail {
        let id = try context.parameters.name("id")
        return try await OperationFinder(broker: site.broker).find(id, queue: request.fields["queue"])
    }

    /// The document of `sluice list -o json`.
    private func list(_ fields: FormFields) async throws -> JSONValue {
        let limit = try fields["limit"].map { text throws(PageFailure) in
            guard let limit = Int(text), (1...Self.largestPage).contains(limit) else {
                throw .badRequest("limit is \(text); expected 1 to \(Self.largestPage)")
            }
            return limit
        }
        let start = try fields["cursor"].map { text throws(QueryError) in try ListWalk.Position(text: text) }
        let query = try await site.broker.resolving(try QueryText.parse(fields["q"] ?? ""))
        let walk = ListWalk(
            site.broker,
            query,
            view: site.options.view,
            limit: limit ?? Self.pageSize,
            scanLimit: Self.scanLimit,
            leavesOutAbsent: true
        )
        var found: [JSONValue] = []
        let result = try await walk.run(from: start) { found += $0.map { OperationJSON.object($0, site.options.view) } }
        return [
            "v": 1, "operations": .array(found), "cursor": JSONValue(result.next?.text),
            "absentNodes": AbsentNode.json(result.absent),
        ]
    }
}
