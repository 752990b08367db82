import Foundation

/// A place that is reused to display different things, such as a table cell.
///
/// Each use has a token. A late result has the token of an earlier use and is not delivered, so no cell displays
/// another row's picture.
///
/// ```swift
/// let token = cell.slot.renew()                       // the cell is about to show another row
/// icons.run(url) { … }.operation.deliver(to: token) { result in cell.show(result) }
/// ```
public final class DeliverySlot: @unchecked Sendable {
    // Unchecked: `lock` guards `use`. The lock is recursive because a delivery may renew its own slot.
    private let lock = NSRecursiveLock()
    private var use: UInt64 = 0

    /// Makes a slot that is not in use.
    public init() {}

    /// Begins a new use and invalidates the tokens of earlier uses. Waits for a delivery that runs on another thread.
    ///
    /// - Returns: the token of the new use.
    @discardableResult
    public func renew() -> DeliveryToken {
        lock.lock()
        defer { lock.unlock() }
        use += 1
        return DeliveryToken(slot: self, use: use)
    }

    fileprivate func holding<Result>(_ use: UInt64, _ body: (Bool) throws -> Result) rethrows -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(self.use == use)
    }
}

/// One use of a `DeliverySlot`.
public struct DeliveryToken: Sendable, Equatable {
    private let slot: DeliverySlot
    private let use: UInt64

    fileprivate init(slot: DeliverySlot, use: UInt64) {
        self.slot = slot
        self.use = use
    }

    /// Whether the slot is still in this use. To act on this, call `deliver`: another thread may renew the slot right
    /// after the answer.
    public var isValid: Bool { slot.holding(use) { $0 } }

    /// Runs a closure if the slot is still in this use. Another thread cannot renew the slot meanwhile.
    ///
    /// - Parameter body: displays the result.
    /// - Returns: false if the slot is in another use; then the closure was not called.
    /// - Throws: the error of the closure.
    @discardableResult
    public func deliver(_ body: () throws -> Void) rethrows -> Bool {
        try slot.holding(use) { isValid in
            if isValid { try body() }
            return isValid
        }
    }

    public static func == (left: Self, right: Self) -> Bool { left.slot === right.slot && left.use == right.use }
}

extension ValueOperation {
    /// Delivers the result at the end of the operation, if the token is still valid then.
    ///
    /// - Parameters:
    ///   - token: the use of the slot for the result.
    ///   - receive: takes the result or the error of `value`. Called on the operation's slot, like a hook (see
    ///     `onEnd`).
    public func deliver(
        to token: DeliveryToken,
        _ receive: @escaping @Sendable (Result<Output, any Error>) -> Void
    ) {
        onEnd { [weak self] _ in
            guard let result = self?.result else { return }
            token.deliver { receive(result) }
        }
    }

    /// Delivers the result on the main actor at the end of the operation, if the token is still valid then.
    ///
    /// - Parameters:
    ///   - token: the use of the slot for the result. Renew the slot on the main actor.
    ///   - receive: takes the result or the error.
    public func deliverOnMainActor(
        to token: DeliveryToken,
        _ receive: @escaping @MainActor @Sendable (Result<Output, any Error>) -> Void
    ) {
        onEnd { [weak self] _ in
            Task { @MainActor in
                guard let result = self?.result else { return }
                token.deliver { receive(result) }
            }
        }
    }
}
