import Foundation
import Operations
import Sluice
import BrokerModel
import Testing

@testable import SluiceCLI

@Suite("Times and durations from every input", .timeLimit(.minutes(60)))
struct TimeInputTests {
    private static let endless = Duration.seconds(Int64.max)
    private static let far = "9999-12-31T23:59:59Z"

    private static let wrongOptions = [
        EnqueueOptions.delay(endless), .delay(.seconds(-1)), .at(.distantFuture),
        .at(Date(timeIntervalSince1970: 1e300)), .at(Date(timeIntervalSince1970: .nan)), .expires(after: endless),
        .expires(after: endless + endless), .expires(after: .zero), .runTimeout(endless), .runTimeout(.zero),
    ]

    /// Indices as arguments, because a date of NaN cannot be described.
    @Test("A producer's wrong durations and dates throw an error and do not trap", arguments: wrongOptions.indices)
    func options(index: Int) {
        let error = #expect(throws: OperationsError.self) {
            try Self.wrongOptions[index].operation(name: "n", arguments: [0x31], serverTime: nil)
        }
        #expect(error?.code == .invalidOption)
    }

    @Test("A retry policy without bounds throws an error")
    func retryPolicy() {
        let policy = RetryPolicy(base: Self.endless, ceiling: Self.endless)
        let error = #expect(throws: OperationsError.self) {
            try EnqueueOptions().operation(name: "n", arguments: [0x31], retry: policy, serverTime: nil)
        }
        #expect(error?.code == .invalidOption)
    }

    @Test("A client's unbounded durations throw an error or are limited")
    func client() async throws {
        let broker = InMemoryBroker()
        let buffering = EnqueueBuffering(patience: Self.endless, closeTimeout: Self.endless)
        let client = SluiceClient(broker: broker, buffering: buffering)
        _ = try await client.enqueue(name: "n")
        #expect(await client.flush(within: Self.endless) == 0)
        let error = await #expect(throws: OperationsError.self) {
            try await client.pause(queue: "default", for: Self.endless)
        }
        #expect(error?.code == .invalidOption)
        await client.close()
        for timeout in [Self.endless, .zero, .seconds(-1)] {
            let error = #expect(throws: OperationsError.self) {
                try SluiceClient(
                    configuration: .init(.url("redis://127.0.0.1:1"), timeouts: .init(connect: timeout))
                )
            }
            #expect(error?.code == .invalidOption)
        }
    }

    @Test("A start that is too far away is refused with the same message on the command line and in a batch")
    func farStart() throws {
        let single = #expect(throws: CLIError.self) { try EnqueueFlags.parse(["--at", Self.far]).settings.check() }
        #expect(single?.status == .usage)
        #expect(single?.message == "--at 9999-12-31T23:59:59.000Z is more than 100 years away")
        let reader = BatchLineReader(defaults: try EnqueueFlags.parse([]).settings)
        let line = Array(#"{"name":"n","at":"\#(Self.far)"}"#.utf8)
        let batch = #expect(throws: CLIError.self) { try reader.request(line[...]) }
        #expect(batch?.message == single?.message)
    }

    @Test("A start is compared with the server's clock once that is known")
    func serverClock() throws {
        var request = try EnqueueFlags.parse(["--at", "2100-01-01T00:00:00Z"]).settings
            .request(name: "n", arguments: [])
        #expect(throws: OperationsError.self) { try request.resolved(serverTime: 0) }
        request.startsAt = 10_000
        #expect(try request.resolved(serverTime: 4_000).delayMilliseconds == 6_000)
    }

    @Test(
        "Options beyond the limits of times are usage errors",
        arguments: [
            ["stats", "--connect-timeout", "0s"], ["queue", "pause", "q", "--for", "0s"],
            ["enqueue", "n", "--in", "36501d"], ["enqueue", "n", "--expires", "0s"],
            ["enqueue", "n", "--run-timeout", "0s"], ["enqueue", "n", "--dry-run", "--at", far],
            ["worker", "--drain-timeout", "36501d"], ["wait", "x", "--timeout", "36501d"],
        ]
    )
    func flags(words: [String]) async {
        let status = await SluiceMain.run(words, environment: [:]) { _ in
            Issue.record("it connected")
            throw CancellationError()
        }
        #expect(status == .usage)
    }

    @Test("The connect timeout of the environment has the same limits")
    func environment() async {
        let status = await SluiceMain.run(["stats"], environment: ["SLUICE_CONNECT_TIMEOUT": "0s"]) { _ in
            Issue.record("it connected")
            throw CancellationError()
        }
        #expect(status == .badConfiguration)
    }
}
