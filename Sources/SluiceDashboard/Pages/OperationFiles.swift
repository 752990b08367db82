import HTTPTypes
import Hummingbird
import Operations
import SluiceOperator
import TerminalText

/// Arguments, result and log of an operation as text files.
struct OperationFiles: Sendable {
    static let names = ["arguments.txt", "result.txt", "log.txt"]

    let site: Site

    func add(to group: RouterGroup<DashboardContext>) {
        group.get("ops/:id/files/:name") { request, context in
            let (id, name) = (try context.parameters.name("id"), try context.parameters.name("name"))
            guard Self.names.contains(name) else { throw PageFailure.notFound("There is no such file.") }
            let finder = OperationFinder(broker: site.broker)
            let detail = try await finder.find(id, queue: request.fields["queue"])
            guard let text = try await text(name, detail) else {
                throw PageFailure.notFound("Nothing is stored, or it is hidden.")
            }
            var response = Response.text(text, "text/plain; charset=utf-8")
            response.headers[.contentDisposition] = "attachment; filename=\"\(detail.id)-\(name)\""
            return response
        }
    }

    private func text(_ name: String, _ detail: OperationDetail) async throws -> String? {
        switch name {
        case "arguments.txt":
            let reading = detail.reading(site.options.view)
            guard reading.hiddenArguments == nil, !detail.record.envelope.isEmpty else { return nil }
            return String(decoding: reading.envelope.arguments, as: UTF8.self)
        case "result.txt": return detail.result(site.options.view).map { String(decoding: $0, as: UTF8.self) }
        default:
            let log = try await site.broker.log(
                detail.id,
                queue: detail.queue,
                from: 0,
                limit: SluiceDefaults.logLines
            )
            return log.lines.map { line in
                (line.at.map { TimeText.rfc3339($0) + "  " } ?? "") + SafeText.line(line.text) + "\n"
            }.joined()
        }
    }
}
