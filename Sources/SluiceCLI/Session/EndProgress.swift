import Operations
import TerminalText

/// Formats the progress line of a wait.
package struct EndProgress: Sendable {
    package var ended: Int
    package var total: Int
    /// Details of the operations that have not ended; if they are many, of the first ones.
    package var open: [OperationDetail]
    package var rate: EndRate

    package init(ended: Int, total: Int, open: [OperationDetail], rate: EndRate = EndRate()) {
        self.ended = ended
        self.total = total
        self.open = open
        self.rate = rate
    }

    /// `►  70% ███████░░░ 140/200 · 12/s · ETA 5s · 3 executing, 57 ready · encode.part7: "pass 2"`.
    ///
    /// The ended members of a group count as a fraction of an operation.
    package func line(_ style: Style) -> String {
        let executing = open.filter { $0.state == .executing }
        let groups = open.compactMap { GroupProgress($0) }.filter { !$0.state.isTerminal }
        let begun =
            executing.reduce(0.0) { $0 + min(1, max(0, $1.progress?.fraction ?? 0)) }
            + groups.reduce(0.0) { $0 + $1.fraction }
        let fraction = total == 0 ? 0 : (Double(ended) + begun) / Double(total)
        let percent = QuantityText.percent(fraction).padded(toWidth: 5, alignment: .right)
        let counts = "\(QuantityText.grouped(ended))/\(QuantityText.grouped(total))"
        var parts = [
            "\(OperationState.executing.mark(ascii: style.usesASCII))\(percent) "
                + "\(QuantityText.bar(fraction, ascii: style.usesASCII)) \(counts)"
        ]
        if let perSecond = rate.perSecond { parts += [Self.text(perSecond)] + eta }
        // Counts of only some operations would look like counts of all operations.
        if ended + open.count >= total { parts += states }
        if !groups.isEmpty {
            let (ended, members) = groups.reduce((0, 0)) { ($0.0 + $1.ended, $0.1 + $1.total) }
            parts.append("\(QuantityText.grouped(ended))/\(QuantityText.grouped(members)) members")
        }
        if let running = executing.first(where: { !($0.progress?.message ?? "").isEmpty }) {
            parts.append(
                "\(SafeText.line(running.envelope.name)): \"\(SafeText.line(running.progress?.message ?? ""))\""
            )
        }
        return parts.joined(separator: style.usesASCII ? " - " : " · ")
    }

    private var states: [String] {
        let counts = Dictionary(grouping: open.filter { !$0.state.isTerminal }, by: \.state).mapValues(\.count)
        let order: [OperationState] = [.executing, .retrying, .ready, .scheduled, .blocked]
        let texts = order.compactMap { state in counts[state].map { "\($0) \(state.rawValue)" } }
        return texts.isEmpty ? [] : [texts.joined(separator: ", ")]
    }

    private var eta: [String] {
        guard ended < total, let time = rate.time(for: total - ended) else { return [] }
        return ["ETA " + DurationText.short(time)]
    }

    private static func text(_ perSecond: Double) -> String {
        perSecond < 1 ? QuantityText.rate(perSecond * 60) + "/min" : QuantityText.rate(perSecond) + "/s"
    }
}
