import Synchronization

/// A `Mutex` whose order the thread sanitizer can see.
///
/// On Linux the kernel hands a contended `Mutex` from thread to thread, inside a library that is not instrumented. So
/// the sanitizer reports each use as a race. The two atomic accesses here make the order visible to the sanitizer, cost
/// about a nanosecond and have no other effect.
package struct Guarded<Value: ~Copyable>: ~Copyable, Sendable {
    private let mutex: Mutex<Value>
    private let order = Atomic<UInt8>(0)

    package init(_ value: consuming sending Value) { mutex = Mutex(value) }

    /// Runs a closure with exclusive access to the value.
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try mutex.withLock { value throws(Failure) in
            _ = order.load(ordering: .acquiring)
            defer { order.store(0, ordering: .releasing) }
            return try body(&value)
        }
    }
}
