// swift-tools-version: 6.2
import PackageDescription

/// Every target of ours is compiled in Swift 6 mode, and a warning is an error.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
]

let package = Package(
    name: "sluice",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "Operations", targets: ["Operations"]),
        .library(name: "Sluice", targets: ["Sluice"]),
        .library(name: "SluiceWorker", targets: ["SluiceWorker"]),
        .library(name: "SluiceCLI", targets: ["SluiceCLI"]),
        .library(name: "SluiceTelemetry", targets: ["SluiceTelemetry"]),
        .library(name: "SluiceTesting", targets: ["SluiceTesting"]),
        .library(name: "SluiceDashboard", targets: ["SluiceDashboard"]),
        .executable(name: "sluice", targets: ["sluice"]),
    ],
    traits: [
        .default(enabledTraits: ["Dashboard"]),
        .trait(name: "Dashboard", description: "The web dashboard, and Hummingbird, which it needs."),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.0"),
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
        .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.7.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.3.0"),
        // Only with the trait Dashboard.
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.0"),
    ],
    targets: [
        // Libraries, in the order in which they may import each other (see STYLE in CONTRIBUTING.md).
        .systemLibrary(name: "CHiredis", providers: [.apt(["libhiredis-dev"])]),
        .target(
            name: "Operations",
            dependencies: [.product(name: "Logging", package: "swift-log")],
            swiftSettings: strict
        ),
        .target(
            name: "RedisClient",
            dependencies: [
                "CHiredis",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "EmbeddedRedis",
            dependencies: ["RedisClient", .product(name: "Logging", package: "swift-log")],
            swiftSettings: strict
        ),
        .target(
            name: "RedisBroker",
            dependencies: [
                "Operations", "RedisClient",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "Logging", package: "swift-log"),
            ],
            resources: [.embedInCode("Scripts")],
            swiftSettings: strict
        ),
        .target(
            name: "OperationKeys",
            dependencies: ["Operations", .product(name: "Crypto", package: "swift-crypto")],
            swiftSettings: strict
        ),
        .target(name: "Schedules", dependencies: ["Operations"], swiftSettings: strict),
        .target(
            name: "WorkerRuntime",
            dependencies: [
                "Operations", "Schedules", "Selectors",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "BuiltinOperations",
            dependencies: [
                "Operations",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "Sluice",
            dependencies: [
                "Operations", "Schedules", "OperationKeys", "RedisClient", "EmbeddedRedis", "RedisBroker",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "SluiceWorker",
            dependencies: [
                "Operations", "RedisClient", "RedisBroker", "WorkerRuntime", "Sluice",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "SluiceTelemetry",
            dependencies: [
                "Operations", "Sluice",
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict
        ),
        .target(name: "TerminalText", dependencies: ["Operations"], swiftSettings: strict),
        .target(name: "Selectors", dependencies: ["Operations", "TerminalText"], swiftSettings: strict),
        .target(
            name: "SluiceOperator",
            dependencies: ["Operations", "Schedules", "RedisClient", "TerminalText", "Selectors"],
            swiftSettings: strict
        ),
        .target(
            name: "SluiceMonitor",
            dependencies: ["Operations", "TerminalText", "Selectors", "SluiceOperator"],
            swiftSettings: strict
        ),
        .target(
            name: "SluiceCLI",
            dependencies: [
                "Operations", "Schedules", "OperationKeys", "RedisClient", "EmbeddedRedis", "RedisBroker",
                "WorkerRuntime",
                "BuiltinOperations", "Sluice", "SluiceWorker", "TerminalText", "Selectors", "SluiceOperator",
                "SluiceMonitor",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "SluiceDashboard",
            dependencies: [
                "Operations", "Sluice", "TerminalText", "Selectors", "SluiceOperator",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Hummingbird", package: "hummingbird", condition: .when(traits: ["Dashboard"])),
            ],
            resources: [
                .embedInCode("Assets/style.css"), .embedInCode("Assets/dashboard.js"), .embedInCode("Assets/keys.js"),
                .embedInCode("Assets/stream.js"),
                .embedInCode("Assets/icon.svg"), .embedInCode("Assets/dead.svg"),
            ],
            swiftSettings: strict
        ),
        .executableTarget(
            name: "sluice",
            dependencies: [
                "SluiceCLI",
                .target(name: "SluiceDashboard", condition: .when(traits: ["Dashboard"])),
            ],
            path: "Sources/sluice-main",
            swiftSettings: strict
        ),
        .target(name: "BrokerModel", dependencies: ["Operations"], swiftSettings: strict),
        .target(
            name: "SluiceTesting",
            dependencies: [
                "Operations", "BrokerModel", "WorkerRuntime", "Sluice",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "TestSupport",
            dependencies: [
                "RedisBroker", "RedisClient", "Sluice",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/TestSupport",
            swiftSettings: strict
        ),
        // A worker's executable in small, for tests of programs that run under a guard.
        .executableTarget(
            name: "guard-fixture",
            dependencies: ["BuiltinOperations"],
            path: "Tests/GuardFixture",
            swiftSettings: strict
        ),
        // A worker whose bodies wait at gates, for tests that kill it.
        .executableTarget(
            name: "worker-fixture",
            dependencies: ["SluiceCLI"],
            path: "Tests/WorkerFixture",
            swiftSettings: strict
        ),
        // The measurements of Benchmarks/bench, which need the inner targets. No product: a user's package builds none.
        .executableTarget(
            name: "sluice-bench",
            dependencies: [
                "Operations", "RedisClient", "EmbeddedRedis", "RedisBroker", "WorkerRuntime", "Sluice", "TerminalText",
                "Selectors", "SluiceOperator", "SluiceCLI",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Benchmarks/Sluice",
            swiftSettings: strict
        ),
        // Tests.
        .testTarget(name: "OperationsTests", dependencies: ["Operations", "BrokerModel"], swiftSettings: strict),
        .testTarget(
            name: "SchedulesTests",
            dependencies: ["Schedules", "TestSupport"],
            exclude: ["zone_table.py"],
            swiftSettings: strict
        ),
        .testTarget(name: "OperationKeysTests", dependencies: ["OperationKeys", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "RedisClientTests",
            dependencies: [
                "RedisClient", "EmbeddedRedis", "TestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "RedisBrokerTests",
            dependencies: [
                "RedisBroker", "BrokerModel", "TestSupport",
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "WorkerRuntimeTests",
            dependencies: [
                "WorkerRuntime", "BuiltinOperations", "BrokerModel", "TestSupport", "guard-fixture",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "SluiceWorkerTests",
            dependencies: [
                "SluiceWorker", "RedisClient", "RedisBroker", "TestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict
        ),
        .testTarget(name: "SluiceTestingTests", dependencies: ["SluiceTesting"], swiftSettings: strict),
        .testTarget(
            name: "SluiceTelemetryTests",
            dependencies: [
                "SluiceTelemetry", "SluiceTesting", "SluiceWorker", "TestSupport",
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .testTarget(name: "TerminalTextTests", dependencies: ["TerminalText", "BrokerModel"], swiftSettings: strict),
        .testTarget(name: "SelectorsTests", dependencies: ["Selectors"], swiftSettings: strict),
        .testTarget(
            name: "SluiceMonitorTests",
            dependencies: ["SluiceMonitor", "SluiceOperator", "BrokerModel", "TestSupport"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "SluiceDashboardTests",
            dependencies: [
                "SluiceDashboard", "Sluice", "SluiceOperator", "BrokerModel", "TestSupport",
                .product(name: "Hummingbird", package: "hummingbird", condition: .when(traits: ["Dashboard"])),
                .product(name: "HummingbirdTesting", package: "hummingbird", condition: .when(traits: ["Dashboard"])),
            ],
            swiftSettings: strict
        ),
        .testTarget(
            name: "SluiceCLITests",
            dependencies: ["SluiceCLI", "SluiceOperator", "BrokerModel"],
            swiftSettings: strict
        ),
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "Operations", "OperationKeys", "RedisClient", "RedisBroker", "WorkerRuntime", "Sluice", "Selectors",
                "SluiceOperator", "SluiceMonitor", "SluiceCLI", "TestSupport",
                "sluice", "sluice-bench", "worker-fixture",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
    ]
)
