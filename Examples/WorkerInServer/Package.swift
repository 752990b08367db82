// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny")]

let package = Package(
    name: "worker-in-server",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "sluice", path: "../.."),
        .package(name: "shared", path: "../Shared"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
        .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.37.0"),
    ],
    targets: [
        .executableTarget(
            name: "worker-in-server",
            dependencies: [
                .product(name: "SluiceWorker", package: "sluice"),
                .product(name: "ExampleServer", package: "shared"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            path: "Sources",
            swiftSettings: strict
        ),
        .testTarget(
            name: "WorkerInServerTests",
            dependencies: [
                "worker-in-server",
                .product(name: "Sluice", package: "sluice"),
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
