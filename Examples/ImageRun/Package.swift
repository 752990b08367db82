// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny")]

let package = Package(
    name: "image-run",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "shared", path: "../Shared"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.0"),
    ],
    targets: [
        .executableTarget(
            name: "image-run",
            dependencies: [
                .product(name: "ExampleBasics", package: "shared"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            path: "Sources",
            swiftSettings: strict
        ),
        .testTarget(
            name: "ImageRunTests",
            dependencies: ["image-run", .product(name: "TestTools", package: "shared")],
            path: "Tests",
            swiftSettings: strict
        ),
    ],
    swiftLanguageModes: [.v6]
)
