import Foundation

/// A place that shows one thing after the other: a reused table cell, a view, a detail pane.
///
/// Each use has a token. A result that comes late, when the place is used for something else, carries an old token and is not delivered:
/// no cell ever shows another row's picture.
///
/// ```swift
/// let token = cell.slot.renew()                       // the cell is about to show another row
/// icons.run(url) { … }.operation.deliver(to: token) { result in cell.show(result) }
/// ```
public final class DeliverySlot: @unchecked Sendable {
    // Unchecked: `use` is guarded by `lock`, a recursive one, because a delivery may renew its own slot.
    private let lock = NSRecursiveLock()
    private var use: UInt64 = 0

    /// A slot without a use.
    public init() {}

    /// Begins a new use. Tokens of former uses are void when this returns; a delivery that is going on in another thread is waited for.
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

    /// Whether the slot is still in this use. To act on it use `deliver`: between a look and an act the slot may be renewed.
    public var isValid: Bool { slot.holding(use) { $0 } }

    /// Does something if the slot is still in this use. The slot is not renewed by another thread meanwhile.
    ///
    /// - Parameter body: what shows the result.
    /// - Returns: false if the slot is in another use, and nothing was done.
    /// - Throws: what the body throws.
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
    /// Gives the result to the holder of a token when the operation has ended, if the token is valid then.
    ///
    /// - Parameters:
    ///   - token: for whom.
    ///   - receive: takes the result or the error, as `value` would give it; on the operation's slot, as a hook (see `onEnd`).
    public func deliver(
        to token: DeliveryToken,
        _ receive: @escaping @Sendable (Result<Output, any Error>) -> Void
    ) {
        onEnd { [weak self] _ in
            guard let result = self?.result else { return }
            token.deliver { receive(result) }
        }
    }

    /// The same on the main actor, where user interfaces live.
    ///
    /// - Parameters:
    ///   - token: for whom. Renew it on the main actor.
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
