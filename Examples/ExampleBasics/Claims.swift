import Foundation

/// What a program claims at its end, each claim with the figure that shows it. A program whose claims do not all hold must not exit with 0.
package struct Claims: Sendable {
    private struct Row {
        let claim: String
        let figure: String
        /// nil: a figure without a claim.
        let holds: Bool?
    }

    private var rows: [Row] = []

    package init() {}

    /// Adds a figure that nothing is claimed about.
    package mutating func note(_ title: String, _ figure: some CustomStringConvertible) {
        rows.append(Row(claim: title, figure: figure.description, holds: nil))
    }

    /// Adds a claim.
    package mutating func claim(_ claim: String, _ holds: Bool, _ figure: some CustomStringConvertible) {
        rows.append(Row(claim: claim, figure: figure.description, holds: holds))
    }

    /// The claims that do not hold.
    package var broken: [String] { rows.filter { $0.holds == false }.map(\.claim) }

    /// One line each: whether it holds, the claim, the figure.
    package var table: String {
        let width = rows.map(\.claim.count).max() ?? 0
        return rows.map { row in
            let mark = row.holds.map { $0 ? "✓" : "✗" } ?? " "
            return "\(mark) \(row.claim.padded(to: width))  \(row.figure)"
        }.joined(separator: "\n")
    }
}

extension String {
    /// With spaces behind it up to a width.
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
