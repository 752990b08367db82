/// The places of boxes in columns, so that edges are short and cross seldom.
///
/// An edge over several columns has a bend in each column between, which takes less space than a box.
struct GraphLayout {
    /// A point of an edge, or a box: the column, and the middle in rows from the top.
    struct Place: Equatable {
        var column: Int
        var row: Double
    }

    /// The places of the boxes, in their order.
    private(set) var places: [Place] = []
    /// The bends of each edge, from left to right, without its ends.
    private(set) var bends: [[Place]] = []
    /// The number of rows.
    private(set) var height = 1.0

    /// The space of a bend in rows; a box takes one.
    private static let bend = 0.4
    private static let sweeps = 6

    private var columns: [[Int]] = []
    private var rows: [Double] = []
    private var before: [[Int]] = []
    private var after: [[Int]] = []
    private let count: Int

    /// - Parameters:
    ///   - columns: the column of each box.
    ///   - edges: boxes that are connected, from a column to a later one.
    init(columns boxes: [Int], edges: [(from: Int, to: Int)]) {
        count = boxes.count
        columns = Array(repeating: [], count: (boxes.max() ?? -1) + 1)
        before = Array(repeating: [], count: count)
        after = before
        for (box, column) in boxes.enumerated() { columns[column].append(box) }
        var chains: [[Int]] = []
        for edge in edges { chains.append(connect(edge.from, edge.to, boxes[edge.from] + 1..<boxes[edge.to])) }
        arrange()
        placeRows()
        places = boxes.indices.map { Place(column: boxes[$0], row: rows[$0]) }
        bends = zip(edges, chains).map { edge, chain in
            chain.enumerated().map { Place(column: boxes[edge.from] + 1 + $0, row: rows[$1]) }
        }
    }

    /// Connects two boxes, with a bend in each of the columns between.
    private mutating func connect(_ from: Int, _ to: Int, _ between: Range<Int>) -> [Int] {
        var chain: [Int] = []
        var last = from
        for column in between {
            let item = before.count
            columns[column].append(item)
            before.append([last])
            after.append([])
            after[last].append(item)
            chain.append(item)
            last = item
        }
        after[last].append(to)
        before[to].append(last)
        return chain
    }

    // MARK: Order in columns

    /// Sorts each column by the mean position of its neighbours, in both directions by turns.
    private mutating func arrange() {
        var positions = Array(repeating: 0.0, count: before.count)
        func note(_ column: [Int]) {
            for (position, item) in column.enumerated() { positions[item] = Double(position) }
        }
        columns.forEach(note)
        for sweep in 0..<Self.sweeps {
            let isForward = sweep.isMultiple(of: 2)
            for index in isForward ? Array(columns.indices) : columns.indices.reversed() {
                let near = isForward ? before : after
                let means = Dictionary(
                    uniqueKeysWithValues: columns[index].map { item in
                        let neighbours = near[item].map { positions[$0] }
                        let own = positions[item]
                        return (item, neighbours.isEmpty ? own : neighbours.reduce(0, +) / Double(neighbours.count))
                    }
                )
                columns[index].sort { (means[$0] ?? 0, positions[$0]) < (means[$1] ?? 0, positions[$1]) }
                note(columns[index])
            }
        }
    }

    // MARK: Rows

    private func size(_ item: Int) -> Double { item < count ? 1 : Self.bend }

    /// Moves each item as near to its neighbours as its column permits.
    private mutating func placeRows() {
        rows = Array(repeating: 0, count: before.count)
        for column in columns { place(column) { _ in 0 } }
        for sweep in 0..<Self.sweeps {
            let isForward = sweep.isMultiple(of: 2)
            for index in isForward ? Array(columns.indices) : columns.indices.reversed() {
                let rows = rows
                let near = isForward ? before : after
                place(columns[index]) { item in
                    let neighbours = near[item].map { rows[$0] }
                    return neighbours.isEmpty ? rows[item] : neighbours.reduce(0, +) / Double(neighbours.count)
                }
            }
        }
        let top = rows.indices.map { rows[$0] - size($0) / 2 }.min() ?? 0
        for item in rows.indices { rows[item] -= top }
        height = max(1, rows.indices.map { rows[$0] + size($0) / 2 }.max() ?? 1)
    }

    /// Places the items of a column in their order, without overlaps, as near to their wishes as possible: items that
    /// would overlap form a block at the mean of their wishes.
    private mutating func place(_ column: [Int], _ wish: (Int) -> Double) {
        var blocks: [(sum: Double, count: Int)] = []
        var offsets: [Double] = []
        var offset = 0.0
        for (position, item) in column.enumerated() {
            if position > 0 { offset += (size(column[position - 1]) + size(item)) / 2 }
            offsets.append(offset)
            blocks.append((wish(item) - offset, 1))
            while blocks.count > 1 {
                let (last, previous) = (blocks[blocks.count - 1], blocks[blocks.count - 2])
                guard last.sum / Double(last.count) < previous.sum / Double(previous.count) else { break }
                blocks.removeLast(2)
                blocks.append((last.sum + previous.sum, last.count + previous.count))
            }
        }
        var position = 0
        for block in blocks {
            for _ in 0..<block.count {
                rows[column[position]] = block.sum / Double(block.count) + offsets[position]
                position += 1
            }
        }
    }
}
