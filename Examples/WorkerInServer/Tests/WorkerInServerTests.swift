import AsyncHTTPClient
import ExampleTesting
import Foundation
import Sluice
import Testing
import TestTools

@testable import worker_in_server

@Suite("Example worker-in-server", .timeLimit(.minutes(60)))
struct WorkerInServerTests {
    private func ask(_ address: String, _ path: String, post: Bool = false) async throws -> (status: UInt, body: String)
    {
        var request = HTTPClientRequest(url: address + path)
        request.method = post ? .POST : .GET
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
        let body = try await response.body.collect(upTo: 1 << 16)
        return (response.status.code, String(buffer: body).trimmingCharacters(in: .newlines))
    }

    @Test("One process serves HTTP and runs operations, and SIGTERM lets running ones end before it exits with 0")
    func wholeLife() async throws {
        let namespace = uniqueNamespace("inside")
        let program = try Program(
            "worker-in-server",
            [],
            environment: ["SLUICE_REDIS_URL": ExampleRedis.url, "SLUICE_NAMESPACE": namespace]
        )
        let start = "listening on "
        #expect(await comesTrue { program.output.contains(start) }, "\(program.errors)")
        let line = try #require(program.output.split(separator: "\n").first { $0.hasPrefix(start) })
        let address = String(line.dropFirst(start.count))
        #expect(await comesTrue { (try? await self.ask(address, "/ready"))?.status == 200 })

        let first = try await ask(address, "/greetings/Ada", post: true)
        #expect(first.status == 202)
        // The server answers with an error if the result takes too long. Then the client asks again.
        #expect(await comesTrue { (try? await self.ask(address, "/greetings/\(first.body)"))?.body == "Hello, Ada!" })

        let second = try await ask(address, "/greetings/Bob", post: true)
        let sluice = try await ExampleRedis.client(namespace: namespace)
        let handle = sluice.handle(try #require(OperationID(second.body)), of: Greeting.self)
        // The body has begun, because an operation that is only claimed would be given back. On a busy machine, the end
        // may come first.
        #expect(
            try await comesTrue {
                if try await handle.progress() != nil { return true }
                return try await handle.state() == .finished
            }
        )
        program.send(SIGTERM)
        let outcome = await program.outcome()
        #expect(outcome.code == 0, "\(outcome.errors)")
        #expect(try await handle.state() == .finished)
        await sluice.close()
    }
}
