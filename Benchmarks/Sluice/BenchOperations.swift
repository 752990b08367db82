import Dispatch
import Foundation
import Operations
import Sluice
import WorkerRuntime

/// The operations that worker processes of benchmarks can run besides the built-in ones.
enum BenchOperations {
    static let stamp = "bench.stamp"
    static let wait = "bench.wait"

    @Sendable
    static func register(in registry: inout OperationRegistry) {
        registry.register(TypedCases.Picture.self)
        registry.register(OperationHandler(name: stamp) { _, _ in Array("\(MachineClock.nanoseconds)".utf8) })
        registry.register(
            OperationHandler(name: wait) { _, _ in
                try? await Task.sleep(for: .seconds(3600))
                return Array("\(MachineClock.nanoseconds)".utf8)
            }
        )
    }
}

/// A clock that all processes of the machine share.
enum MachineClock {
    static var nanoseconds: UInt64 { DispatchTime.now().uptimeNanoseconds }
}
