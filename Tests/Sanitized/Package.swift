// swift-tools-version: 6.2
import PackageDescription

// The tests of `Operations` alone, for `scripts/test --tsan`. SwiftPM builds every test target of a package, and an
// instrumented build of the whole package takes a quarter of an hour. The folders are links to the real ones.
let settings: [SwiftSetting] = [.swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny")]

let package = Package(
    name: "sanitized",
    platforms: [.macOS(.v15)],
    dependencies: [.package(url: "https://github.com/apple/swift-log.git", from: "1.16.0")],
    targets: [
        .target(
            name: "Operations",
            dependencies: [.product(name: "Logging", package: "swift-log")],
            swiftSettings: settings
        ),
        .target(name: "BrokerModel", dependencies: ["Operations"], swiftSettings: settings),
        .testTarget(name: "OperationsTests", dependencies: ["Operations", "BrokerModel"], swiftSettings: settings),
    ]
)
