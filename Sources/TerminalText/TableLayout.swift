/// The shown columns of a table and their widths.
struct TableLayout: Hashable {
    /// One shown column.
    struct Slot: Hashable {
        let index: Int
        let alignment: TextAlignment
        var width: Int
    }

    /// The cells between two columns.
    static let gap = 2

    private(set) var slots: [Slot] = []

    /// - Parameters:
    ///   - columns: The table's columns.
    ///   - widths: The width of each column's widest cell.
    ///   - target: The output for which the table is drawn.
    init(columns: [TableColumn], widths: [Int], for target: TableTarget) {
        guard case .terminal(let width) = target else {
            slots = columns.indices.map { Slot(index: $0, alignment: columns[$0].alignment, width: widths[$0]) }
            return
        }
        let wanted = columns.indices.map { min(widths[$0], columns[$0].maximumWidth ?? .max) }
        // A cut number is another number, so a column of numbers is shown whole or left out.
        let least = columns.indices.map { index in
            let isNumber = columns[index].alignment == .right
            return isNumber ? wanted[index] : min(wanted[index], max(1, columns[index].minimumWidth))
        }
        let kept = Self.choose(columns, least: least, width: width)
        slots = kept.map { Slot(index: $0, alignment: columns[$0].alignment, width: wanted[$0]) }
        shrink(to: width, least: least)
    }

    /// Leaves columns out until the minimum widths fit: the highest drop priority first, among equals the rightmost.
    private static func choose(_ columns: [TableColumn], least: [Int], width: Int) -> [Int] {
        var kept = Array(columns.indices)
        while total(kept.map { least[$0] }) > width {
            let droppable = kept.reversed().filter { columns[$0].dropPriority > 0 }
            guard let next = droppable.max(by: { columns[$0].dropPriority < columns[$1].dropPriority }) else { break }
            kept.removeAll { $0 == next }
        }
        return kept
    }

    /// Takes cells from the widest column until the line fits. Goes below the minimum widths only when nothing else is
    /// left.
    private mutating func shrink(to width: Int, least: [Int]) {
        for floor in [least, least.map { _ in 1 }] {
            while excess(over: width) > 0 {
                let shrinkable = slots.indices.filter { slots[$0].width > floor[slots[$0].index] }
                guard let widest = shrinkable.max(by: { slots[$0].width < slots[$1].width }) else { break }
                let second = shrinkable.filter { $0 != widest }.map { slots[$0].width }.max() ?? 0
                let step = min(excess(over: width), max(1, slots[widest].width - second))
                slots[widest].width = max(floor[slots[widest].index], slots[widest].width - step)
            }
        }
        while excess(over: width) > 0 && slots.count > 1 { slots.removeLast() }
        if excess(over: width) > 0 { slots[0].width = max(0, width) }
    }

    private func excess(over width: Int) -> Int { Self.total(slots.map(\.width)) - width }

    private static func total(_ widths: [Int]) -> Int { widths.reduce(0, +) + gap * max(0, widths.count - 1) }

    /// One row with cells cut and padded, and without spaces at its end.
    func line(_ cells: [TableCell], style: Style) -> String {
        var line = ""
        var pending = 0
        for (position, slot) in slots.enumerated() {
            if position > 0 { pending += Self.gap }
            let cell = cells[slot.index]
            let text = cell.text.truncated(toWidth: slot.width, mark: style.cutMark)
            let spaces = slot.width - text.displayWidth
            if slot.alignment == .right { pending += spaces }
            if !text.isEmpty {
                line += String(repeating: " ", count: pending) + style.paint(text, cell.role)
                pending = 0
            }
            if slot.alignment == .left { pending += spaces }
        }
        return line
    }
}
