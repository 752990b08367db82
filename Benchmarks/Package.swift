// swift-tools-version: 6.2
import PackageDescription

// `Sources/Operations` is a link to the module itself, so that a measurement builds this one module and nothing that Sluice depends on.
let package = Package(
    name: "benchmarks",
    platforms: [.macOS(.v15)],
    targets: [
        .target(
            name: "Operations",
            swiftSettings: [.swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny")]
        ),
        .executableTarget(
            name: "QueueBenchmark",
            dependencies: ["Operations"],
            swiftSettings: [.swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny")]
        ),
    ]
)
