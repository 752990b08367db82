// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny")]

let package = Package(
    name: "image-downloads",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "sluice", path: "../.."),
        .package(name: "shared", path: "../Shared"),
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.0"),
        .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.37.0"),
    ],
    targets: [
        .target(
            name: "IconDownloads",
            dependencies: [
                .product(name: "Operations", package: "sluice"),
                .product(name: "ExampleBasics", package: "shared"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
            ],
            path: "Sources/Download",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "image-downloads",
            dependencies: [
                "IconDownloads",
                .product(name: "Operations", package: "sluice"),
                .product(name: "Sluice", package: "sluice"),
                .product(name: "ExampleBasics", package: "shared"),
                .product(name: "ExampleServer", package: "shared"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Sources/Program",
            swiftSettings: strict
        ),
        .executableTarget(
            name: "image-downloads-worker",
            dependencies: [
                "IconDownloads",
                .product(name: "SluiceCLI", package: "sluice"),
            ],
            path: "Sources/Worker",
            swiftSettings: strict
        ),
        .testTarget(
            name: "ImageDownloadsTests",
            dependencies: [
                "IconDownloads",
                "image-downloads",
                "image-downloads-worker",
                .product(name: "Sluice", package: "sluice"),
                .product(name: "ExampleBasics", package: "shared"),
                .product(name: "ExampleServer", package: "shared"),
                .product(name: "TestTools", package: "shared"),
                .product(name: "ExampleTesting", package: "shared"),
            ],
            path: "Tests",
            swiftSettings: strict
        ),
    ],
    swiftLanguageModes: [.v6]
)
