import Synchronization

/// A `Mutex` whose order the thread sanitizer can see.
///
/// On Linux a contended `Mutex` is handed over by the kernel, inside a library that is not instrumented: the sanitizer reports every use of
/// it as a race. The two plain atomic accesses here tell it what the lock orders; they cost about a nanosecond and change nothing else.
package struct Guarded<Value: ~Copyable>: ~Copyable, Sendable {
    private let mutex: Mutex<Value>
    private let order = Atomic<UInt8>(0)

    package init(_ value: consuming sending Value) { mutex = Mutex(value) }

    /// Does something with the value while nobody else does.
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
