import HTTPTypes
import Hummingbird
import NIOCore
import Operations
import Selectors
import SluiceOperator

/// All operations of a list as a file, read part by part while the browser takes it.
struct ExportRoute: Sendable {
    /// The operations of a part, as many as the broker answers at once. Each may have 2 MB.
    private static let part = 200
    /// The most operations to scan for a part, so that its turn is short.
    private static let scanLimit = 20_000

    enum Format: String, CaseIterable {
        case csv, jsonl

        fileprivate var mediaType: String {
            switch self {
            case .csv: "text/csv; charset=utf-8; header=present"
            case .jsonl: "application/jsonl; charset=utf-8"
            }
        }

        fileprivate var head: String { self == .csv ? OperationCSV.header + "\n" : "" }

        fileprivate func line(_ detail: OperationDetail, _ view: PayloadView) -> String {
            switch self {
            case .csv: OperationCSV.line(detail) + "\n"
            case .jsonl: OperationJSON.object(detail, view).serialized() + "\n"
            }
        }
    }

    let site: Site

    func add(to group: RouterGroup<DashboardContext>) {
        group.get("export/:name") { request, context in
            let name = try context.parameters.name("name")
            guard let format = Format.allCases.first(where: { name == "operations.\($0.rawValue)" }) else {
                throw PageFailure.notFound("Lists are exported as operations.csv and operations.jsonl.")
            }
            var query = try QueryText.parse(request.fields["q"] ?? "")
            if let state = try request.fields.state() { query.terms.append(.states([state])) }
            query = try await site.broker.resolving(query)
            return Response(
                status: .ok,
                headers: [
                    .contentType: format.mediaType, .contentDisposition: "attachment; filename=\"\(name)\"",
                ],
                body: request.method == .get ? body(query, format) : ResponseBody()
            )
        }
    }

    private func body(_ query: OperationQuery, _ format: Format) -> ResponseBody {
        let walk = ListWalk(
            site.broker,
            query,
            view: site.options.view,
            limit: Self.part,
            scanLimit: Self.scanLimit,
            leavesOutAbsent: true
        )
        let (view, requests) = (site.options.view, site.requests)
        return ResponseBody { writer in
            if !format.head.isEmpty { try await writer.write(ByteBuffer(string: format.head)) }
            var place: ListWalk.Position?
            repeat {
                var text = ""
                // Each part takes a turn of its own: the response is written after the turn of its request.
                place = try await requests.run {
                    try await walk.run(from: place) { for detail in $0 { text += format.line(detail, view) } }.next
                }
                if !text.isEmpty { try await writer.write(ByteBuffer(string: text)) }
            } while place != nil
            try await writer.finish(nil)
        }
    }
}
