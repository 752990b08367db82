// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny")]

// Parts that several examples need, and parts that their tests need.
let package = Package(
    name: "shared",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "ExampleBasics", targets: ["ExampleBasics"]),
        .library(name: "ExampleServer", targets: ["ExampleServer"]),
        .library(name: "CZlib", targets: ["CZlib"]),
        .library(name: "TestTools", targets: ["TestTools"]),
        .library(name: "ExampleTesting", targets: ["ExampleTesting"]),
    ],
    dependencies: [
        .package(name: "sluice", path: "../.."),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.0"),
    ],
    targets: [
        .target(name: "ExampleBasics", swiftSettings: strict),
        .target(
            name: "ExampleServer",
            dependencies: [
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            swiftSettings: strict
        ),
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
        // A link to the part of the test support of Sluice that uses nothing of Sluice.
        .target(name: "TestTools", swiftSettings: strict),
        .target(
            name: "ExampleTesting",
            dependencies: [
                "TestTools",
                .product(name: "Sluice", package: "sluice"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: strict
        ),
    ],
    swiftLanguageModes: [.v6]
)
