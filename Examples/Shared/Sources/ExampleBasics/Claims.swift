import Foundation

/// The claims of a program about its run, each with the value that proves it.
///
/// A program exits with an error if a claim does not hold.
public struct Claims: Sendable {
    private struct Row {
        let claim: String
        let figure: String
        /// Whether the claim holds; nil = a value without a claim.
        let holds: Bool?
    }

    private var rows: [Row] = []

    public init() {}

    /// Adds a value without a claim.
    public mutating func note(_ title: String, _ figure: some CustomStringConvertible) {
        rows.append(Row(claim: title, figure: figure.description, holds: nil))
    }

    /// Adds a claim.
    public mutating func claim(_ claim: String, _ holds: Bool, _ figure: some CustomStringConvertible) {
        rows.append(Row(claim: claim, figure: figure.description, holds: holds))
    }

    /// The claims that do not hold.
    public var broken: [String] { rows.filter { $0.holds == false }.map(\.claim) }

    /// One line for each row: whether the claim holds, the claim, the value.
    public var table: String {
        let width = rows.map(\.claim.count).max() ?? 0
        return rows.map { row in
            let mark = row.holds.map { $0 ? "✓" : "✗" } ?? " "
            return "\(mark) \(row.claim.padded(to: width))  \(row.figure)"
        }.joined(separator: "\n")
    }
}

extension String {
    /// Adds spaces at the end up to a width.
    public func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}

/// Time since the start of a program's work.
public struct Stopwatch: Sendable {
    private let start = ContinuousClock.now

    public init() {}

    public var elapsed: Duration { ContinuousClock.now - start }

    /// `1.25 s`
    public var text: String { elapsed.seconds }
}

extension Duration {
    /// `1.25 s`
    public var seconds: String {
        formatted(.units(allowed: [.seconds], width: .narrow, fractionalPart: .show(length: 2)))
    }
}
