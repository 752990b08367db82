import Foundation

/// The claims of a program about its run, each with the value that proves it.
///
/// A program exits with an error if a claim does not hold.
package struct Claims: Sendable {
    private struct Row {
        let claim: String
        let figure: String
        /// Whether the claim holds; nil = a value without a claim.
        let holds: Bool?
    }

    private var rows: [Row] = []

    package init() {}

    /// Adds a value without a claim.
    package mutating func note(_ title: String, _ figure: some CustomStringConvertible) {
        rows.append(Row(claim: title, figure: figure.description, holds: nil))
    }

    /// Adds a claim.
    package mutating func claim(_ claim: String, _ holds: Bool, _ figure: some CustomStringConvertible) {
        rows.append(Row(claim: claim, figure: figure.description, holds: holds))
    }

    /// The claims that do not hold.
    package var broken: [String] { rows.filter { $0.holds == false }.map(\.claim) }

    /// One line for each row: whether the claim holds, the claim, the value.
    package var table: String {
        let width = rows.map(\.claim.count).max() ?? 0
        return rows.map { row in
            let mark = row.holds.map { $0 ? "✓" : "✗" } ?? " "
            return "\(mark) \(row.claim.padded(to: width))  \(row.figure)"
        }.joined(separator: "\n")
    }
}

extension String {
    /// Adds spaces at the end up to a width.
    package func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}

/// Time since the start of a program's work.
package struct Stopwatch: Sendable {
    private let start = ContinuousClock.now

    package init() {}

    package var elapsed: Duration { ContinuousClock.now - start }

    /// `1.25 s`
    package var text: String { elapsed.seconds }
}

extension Duration {
    /// `1.25 s`
    package var seconds: String {
        formatted(.units(allowed: [.seconds], width: .narrow, fractionalPart: .show(length: 2)))
    }
}
