import Operations
import TerminalText

extension MonitorView {
    /// The width in cells of the column for an id or for the author of a change.
    private var idWidth: Int { model.isWide ? OperationID.characterCount : 14 }

    func drawEvents(on grid: inout Grid) {
        let top = drawTop(on: &grid)
        let pane = model.events
        var title = [model.isFrozen ? "frozen" : pane.back > 0 ? "scrolled back" : "following"]
        title.append("\(QuantityText.rate(pane.rate))/s")
        if pane.onlyChanges { title.append("changes only") }
        if !pane.filter.isEmpty { title.append("/" + SafeText.line(pane.filter)) }
        grid.put(title.joined(separator: " · "), x: 1, y: top, look: Look(.dim))
        let space = max(0, size.height - top - 2)
        let shown = pane.shown.dropLast(pane.back).suffix(space)
        if shown.isEmpty {
            grid.put(pane.nothing, x: 1, y: top + 1, look: Look(.dim))
        }
        for (index, line) in shown.enumerated() {
            let spans = spans(of: line).truncated(toWidth: size.width - 2, mark: style.cutMark)
            grid.put(spans, x: 1, y: top + 1 + index)
        }
    }

    private func spans(of line: EventLine) -> [Span] {
        let time = Span(TimeText.clock(line.at, fraction: true) + " ", .dim)
        let queue = Span(SafeText.line(line.queue).padded(toWidth: 10))
        func word(_ text: String, _ width: Int, _ role: TextRole = .plain) -> Span {
            Span(SafeText.line(text).truncated(toWidth: width, mark: style.cutMark).padded(toWidth: width + 1), role)
        }
        switch line.content {
        case .transition(let id, let state):
            let mark = state.mark(ascii: style.usesASCII)
            return [
                time, word(ShortID.text(id, length: model.isWide ? idWidth : idWidth - 1, style: style), idWidth),
                word("\(mark) \(state.rawValue)", 11, state.role), queue,
            ]
        case .more(let count):
            return [
                time, word("and \(QuantityText.grouped(count)) more", idWidth), word("", 11), queue,
            ]
        case .change(let change, let id):
            let author = change.author { id in
                model.worker(id)?.label ?? model.lost.first { $0.id == id }?.label
            }
            let (by, verb) = (word(author, idWidth, .heading), word(change.word, 11, .heading))
            return [time, by, verb, queue, Span(" " + SafeText.line(change.sentence(naming: id)))]
        case .missed(let count):
            let text = "\(QuantityText.grouped(count)) events missed"
            return [time, word(text, idWidth, .warning), word("", 11), queue]
        }
    }
}
