// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny")]

let package = Package(
    name: "custom-operation",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "sluice", path: "../.."),
        .package(name: "shared", path: "../Shared"),
    ],
    targets: [
        .executableTarget(
            name: "custom-operation",
            dependencies: [
                .product(name: "Operations", package: "sluice"),
                .product(name: "ExampleBasics", package: "shared"),
            ],
            path: "Sources",
            swiftSettings: strict
        ),
        .testTarget(
            name: "CustomOperationTests",
            dependencies: [
                "custom-operation",
                .product(name: "Operations", package: "sluice"),
                .product(name: "TestTools", package: "shared"),
            ],
            path: "Tests",
            swiftSettings: strict
        ),
    ],
    swiftLanguageModes: [.v6]
)
