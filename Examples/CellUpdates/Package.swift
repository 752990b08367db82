// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny")]

let package = Package(
    name: "cell-updates",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "sluice", path: "../.."),
        .package(name: "shared", path: "../Shared"),
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.0"),
    ],
    targets: [
        .executableTarget(
            name: "cell-updates",
            dependencies: [
                .product(name: "Operations", package: "sluice"),
                .product(name: "ExampleBasics", package: "shared"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Sources",
            swiftSettings: strict
        ),
        .testTarget(
            name: "CellUpdatesTests",
            dependencies: [
                "cell-updates",
                .product(name: "ExampleBasics", package: "shared"),
                .product(name: "TestTools", package: "shared"),
            ],
            path: "Tests",
            swiftSettings: strict
        ),
    ],
    swiftLanguageModes: [.v6]
)
