// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny")]

let package = Package(
    name: "thumbnail-pipeline",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "sluice", path: "../.."),
        .package(name: "shared", path: "../Shared"),
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.0"),
        .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.37.0"),
    ],
    targets: [
        .systemLibrary(name: "CPNG", path: "Sources/CPNG", providers: [.apt(["libpng-dev"])]),
        .target(
            name: "Pictures",
            dependencies: ["CPNG"],
            path: "Sources/Pictures",
            swiftSettings: strict
        ),
        .target(
            name: "PictureSteps",
            dependencies: [
                .product(name: "Operations", package: "sluice"),
                .product(name: "ExampleBasics", package: "shared"),
                "Pictures",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
            ],
            path: "Sources/Steps",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "thumbnail-pipeline",
            dependencies: [
                "PictureSteps",
                .product(name: "Operations", package: "sluice"),
                .product(name: "Sluice", package: "sluice"),
                .product(name: "ExampleBasics", package: "shared"),
                .product(name: "ExampleServer", package: "shared"),
                "Pictures",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Sources/Program",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "thumbnail-pipeline-worker",
            dependencies: [
                "PictureSteps",
                .product(name: "SluiceCLI", package: "sluice"),
            ],
            path: "Sources/Worker",
            swiftSettings: strict
        ),
        .testTarget(
            name: "ThumbnailPipelineTests",
            dependencies: [
                "Pictures",
                "PictureSteps",
                "thumbnail-pipeline",
                "thumbnail-pipeline-worker",
                .product(name: "Sluice", package: "sluice"),
                .product(name: "SluiceWorker", package: "sluice"),
                .product(name: "ExampleBasics", package: "shared"),
                .product(name: "ExampleServer", package: "shared"),
                .product(name: "CZlib", package: "shared"),
                .product(name: "TestTools", package: "shared"),
                .product(name: "ExampleTesting", package: "shared"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests",
            swiftSettings: strict
        ),
    ],
    swiftLanguageModes: [.v6]
)
