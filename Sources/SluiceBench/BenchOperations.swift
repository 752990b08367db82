import Dispatch
import Foundation
import Operations
import Sluice
import WorkerRuntime

/// The operations that worker processes of benchmarks and tests can run besides the built-in ones.
enum BenchOperations {
    static let stamp = "bench.stamp"
    static let wait = "bench.wait"
    /// Enqueues `count` programs in `queue`, which start with its completion, and takes `milliseconds`.
    ///
    /// Each program finds the parent and its fence in its environment.
    static let brood = "bench.brood"
    /// Takes `milliseconds` and adds `count` operations of its kind to its groups, in `queue`.
    ///
    /// Each child adds one fewer, in the queue of its parent.
    static let crawl = "bench.crawl"

    @Sendable
    static func register(in registry: inout OperationRegistry) {
        registry.register(TypedCases.Picture.self)
        registry.register(spin)
        registry.register(OperationHandler(name: brood) { try await runBrood($1, $0) })
        registry.register(OperationHandler(name: crawl) { try await runCrawl($1, $0) })
        registry.register(OperationHandler(name: stamp) { _, _ in Array("\(MachineClock.nanoseconds)".utf8) })
        registry.register(
            OperationHandler(name: wait) { _, _ in
                try? await Task.sleep(for: .seconds(3600))
                return Array("\(MachineClock.nanoseconds)".utf8)
            }
        )
    }
}

extension BenchOperations {
    private static func runBrood(_ context: OperationContext, _ json: [UInt8]) async throws -> [UInt8] {
        let arguments = try JSONValue(parsing: json)
        let program = arguments["argv"]?.arrayValue ?? []
        let about: [JSONValue] = [
            "env", .string("PARENT=\(context.id)"), .string("PARENT_FENCE=\(try context.fence)"),
        ]
        for _ in 0..<(arguments["count"]?.intValue ?? 1) {
            try await context.enqueue(
                name: "exec",
                arguments: JSONArguments(["argv": .array(about + program)]),
                .queue(arguments["queue"]?.stringValue ?? context.queue),
                .withCompletion
            )
        }
        try await Task.sleep(for: .milliseconds(arguments["milliseconds"]?.intValue ?? 0))
        return []
    }

    private static func runCrawl(_ context: OperationContext, _ json: [UInt8]) async throws -> [UInt8] {
        let arguments = try JSONValue(parsing: json)
        let (count, pause) = (arguments["count"]?.intValue ?? 0, arguments["milliseconds"]?.intValue ?? 0)
        for group in try await context.groups() {
            for number in 0..<count {
                try await context.enqueue(
                    name: crawl,
                    arguments: [
                        "count": .init(count - 1), "milliseconds": .init(pause), "queue": .init(context.queue),
                    ],
                    .queue(arguments["queue"]?.stringValue ?? context.queue),
                    .id(OperationID(key: "\(context.id) \(number)")),
                    .group(group)
                )
            }
        }
        try await Task.sleep(for: .milliseconds(pause))
        return []
    }
}

/// A clock that all processes of the machine share.
enum MachineClock {
    static var nanoseconds: UInt64 { DispatchTime.now().uptimeNanoseconds }
}
