// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny")]

let package = Package(
    name: "paged-sync",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "sluice", path: "../.."),
        .package(name: "shared", path: "../Shared"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
        .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.37.0"),
    ],
    targets: [
        .target(
            name: "ContactSync",
            dependencies: [
                .product(name: "CZlib", package: "shared"),
                .product(name: "Operations", package: "sluice"),
                .product(name: "Sluice", package: "sluice"),
                .product(name: "ExampleBasics", package: "shared"),
                .product(name: "ExampleServer", package: "shared"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            path: "Sources/Sync",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "paged-sync",
            dependencies: ["ContactSync"],
            path: "Sources/Program",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "paged-sync-worker",
            dependencies: [
                "ContactSync",
                .product(name: "SluiceWorker", package: "sluice"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            path: "Sources/Worker",
            swiftSettings: strict
        ),
        .testTarget(
            name: "PagedSyncTests",
            dependencies: [
                "ContactSync",
                "paged-sync",
                "paged-sync-worker",
                .product(name: "Sluice", package: "sluice"),
                .product(name: "ExampleServer", package: "shared"),
                .product(name: "TestTools", package: "shared"),
                .product(name: "ExampleTesting", package: "shared"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
            ],
            path: "Tests",
            swiftSettings: strict
        ),
    ],
    swiftLanguageModes: [.v6]
)
