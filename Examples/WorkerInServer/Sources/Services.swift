import ExampleServer
import Foundation
import ServiceLifecycle
import SluiceWorker

/// The HTTP server of the example.
///
/// - `POST /greetings/NAME` enqueues and returns the id.
/// - `GET /greetings/ID` waits for the result.
/// - `GET /ready` answers probes.
struct Web: Service {
    let sluice: SluiceClient
    let worker: Worker

    func run() async throws {
        let server = try await ExampleServer.start { request in
            do { return try await answer(request) } catch { return .init(500, body: Array("\(error)\n".utf8)) }
        }
        try FileHandle.standardOutput.write(contentsOf: Data("listening on \(server.address)\n".utf8))
        try await gracefulShutdown()
        try await server.stop()
    }

    private func answer(_ request: ExampleServer.Request) async throws -> ExampleServer.Response {
        let last = request.path.split(separator: "/").last.map(String.init) ?? ""
        switch (request.method, request.path.hasPrefix("/greetings/")) {
        case ("POST", true):
            let handle = try await sluice.enqueue(Greeting(who: last))
            return .init(202, body: Array("\(handle.id)\n".utf8))
        case ("GET", true):
            guard let id = OperationID(last) else { return .init(404) }
            let greeting = try await sluice.handle(id, of: Greeting.self).value(timeout: .seconds(30))
            return .init(200, body: Array("\(greeting)\n".utf8))
        case ("GET", false) where request.path == "/ready":
            let health = worker.health
            return .init(health.isReady ? 200 : 503, body: Array("\(health.reason)\n".utf8))
        default: return .init(404)
        }
    }
}

/// Another service of the process.
struct Clock: Service {
    func run() async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled { try? await Task.sleep(for: .seconds(1)) }
        }
    }
}
