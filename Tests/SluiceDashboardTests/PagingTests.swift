import BrokerModel
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Operations
import Sluice
import Testing

@testable import SluiceDashboard

@Suite("Page by page", .timeLimit(.minutes(60)))
struct PagingTests {
    private static let count = 5_000

    /// Operations of one millisecond, and a worker that finishes some of them while they are read.
    private struct Rows {
        let broker = InMemoryBroker(time: .manual(ManualClock()))
        let worker = WorkerID()
        let ids: [OperationID]

        init() async throws {
            let operations = (0..<PagingTests.count).map { number in
                NewOperation(envelope: OperationEnvelope(name: "Row \(number)").encoded())
            }
            ids = operations.map(\.id)
            for start in stride(from: 0, to: operations.count, by: 500) {
                _ = try await broker.enqueue(Array(operations[start..<start + 500]), queue: "mail")
            }
            let beat = Beat(
                worker: worker,
                epoch: 1,
                leaseMilliseconds: 3_600_000,
                intervalMilliseconds: 5_000,
                info: []
            )
            _ = try broker.beat(beat, queue: "mail")
        }

        /// Finishes the oldest operations that wait.
        func finish(_ capacity: Int) async throws -> [OperationID] {
            let request = ClaimRequest(worker: worker, epoch: 1, capacity: capacity)
            let claimed = try await broker.claim(request, queue: "mail").operations
            let completions = claimed.map { Completion(fence: $0.fence, id: $0.id, tracked: $0.header.tracked) }
            _ = try await broker.complete(completions, isRepeat: false, worker: worker, thenClaim: nil, queue: "mail")
            return claimed.map(\.id)
        }
    }

    @Test(
        "Pages of 5,000 operations of one millisecond lose none and repeat none, while a worker finishes some",
        arguments: ["state:ready", ""]
    )
    func stable(_ query: String) async throws {
        let rows = try await Rows()
        var options = DashboardOptions(namespace: "test", identity: "ann")
        (options.interval, options.patience, options.isOpen) = (.zero, .seconds(3_600), true)
        let site = Site(SluiceClient(broker: rows.broker, namespace: "test"), options)
        let application = Application(router: Routes(site: site).router())
        let (listed, finished) = try await application.test(.router) { client in
            var listed: [String] = []
            var finished: Set<OperationID> = []
            var cursor: String?
            repeat {
                let fields: KeyValuePairs<String, String?> = ["q": query, "limit": "500", "cursor": cursor]
                let uri = site.links.to("api", "v1", "operations", query: fields).text
                let answer = try await client.execute(uri: uri, method: .get)
                let page = try JSONValue(parsing: String(buffer: answer.body))
                for row in page["operations"]?.arrayValue ?? [] { listed.append(try #require(row["id"]?.stringValue)) }
                cursor = page["cursor"]?.stringValue
                finished.formUnion(try await rows.finish(100))
            } while cursor != nil
            return (listed, finished)
        }
        // With all states, an operation that is finished after its row was read is also a row of the finished ones.
        let repeated = Dictionary(grouping: listed) { $0 }.filter { $1.count > 1 }.keys
        #expect(query.isEmpty ? repeated.allSatisfy(finished.map(\.description).contains) : repeated.isEmpty)
        let missing = Set(rows.ids.filter { !finished.contains($0) }.map(\.description)).subtracting(listed)
        #expect(missing.isEmpty, "\(missing.count) operations that waited all the time are not listed")
        #expect(!finished.isEmpty)
    }
}
