import Foundation

/// A place that is reused to show different things, such as a table cell.
///
/// Each use has a token. A late result has the token of an earlier use and is not delivered, so no cell shows another row's picture.
///
/// ```swift
/// let token = cell.slot.renew()                       // the cell is about to show another row
/// icons.run(url) { … }.operation.deliver(to: token) { result in cell.show(result) }
/// ```
public final class DeliverySlot: @unchecked Sendable {
    // Unchecked: `lock` guards `use`. It is recursive because a delivery may renew its own slot.
    private let lock = NSRecursiveLock()
    private var use: UInt64 = 0

    /// Makes a slot that is not in use.
    public init() {}

    /// Begins a new use. Tokens of earlier uses are invalid when this returns. Waits for a delivery that is running on another thread.
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

    /// Whether the slot is still in this use. To act on this, call `deliver`: the slot may be renewed right after this returns.
    public var isValid: Bool { slot.holding(use) { $0 } }

    /// Runs a closure if the slot is still in this use. Another thread cannot renew the slot meanwhile.
    ///
    /// - Parameter body: shows the result.
    /// - Returns: false if the slot is in another use; then the closure was not called.
    /// - Throws: what the closure throws.
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
    /// Delivers the result when the operation has ended, if the token is still valid then.
    ///
    /// - Parameters:
    ///   - token: the use of the slot that the result is for.
    ///   - receive: takes the result or the error of `value`. Called on the operation's slot, as a hook (see `onEnd`).
    public func deliver(
        to token: DeliveryToken,
        _ receive: @escaping @Sendable (Result<Output, any Error>) -> Void
    ) {
        onEnd { [weak self] _ in
            guard let result = self?.result else { return }
            token.deliver { receive(result) }
        }
    }

    /// Delivers the result on the main actor when the operation has ended, if the token is still valid then.
    ///
    /// - Parameters:
    ///   - token: the use of the slot that the result is for. Renew the slot on the main actor.
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
