// swift-tools-version: 6.2
import PackageDescription

// `Sources/Operations` is a link to the module itself. So a measurement builds this module and swift-log alone.
let package = Package(
    name: "benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [.package(url: "https://github.com/apple/swift-log.git", from: "1.16.0")],
    targets: [
        .target(
            name: "Operations",
            dependencies: [.product(name: "Logging", package: "swift-log")],
            swiftSettings: [.swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny")]
        ),
        .executableTarget(
            name: "QueueBenchmark",
            dependencies: ["Operations"],
            swiftSettings: [.swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny")]
        ),
    ]
)
