// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny")]

let package = Package(
    name: "thumbnails",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "sluice", path: "../.."),
        .package(name: "shared", path: "../Shared"),
    ],
    targets: [
        .executableTarget(
            name: "thumbnails",
            dependencies: [
                .product(name: "SluiceCLI", package: "sluice"),
                .product(name: "ExampleBasics", package: "shared"),
            ],
            path: "Sources",
            swiftSettings: strict
        )
    ],
    swiftLanguageModes: [.v6]
)
