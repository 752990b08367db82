import Operations
import SluiceOperator
import TerminalText

/// The drawing of a graph: dependencies at the left, dependents at the right.
struct GraphChart {
    /// Lengths in pixels.
    struct Metrics {
        var width: Double
        var gap: Double
        /// The most columns of text in a box.
        var letters: Int
        /// Whether policies are words beside the lines.
        var hasLabels = true
        let height = 42.0
        let row = 56.0
        let margin = 4.0

        static let page = Metrics(width: 190, gap: 72, letters: 23)
        /// For many columns.
        static let narrow = Metrics(width: 136, gap: 52, letters: 16)
        /// For three columns in half a page, without room for words between the boxes.
        static let small = Metrics(width: 128, gap: 32, letters: 15, hasLabels: false)
    }

    let graph: OperationGraph
    let subject: DependencyName
    let boxes: GraphBoxes
    let visit: Visit
    var metrics = Metrics.page
    /// The page of the operations in a folded box.
    var folded: (GraphBoxes.Box) -> Link

    var markup: Markup {
        let layout = GraphLayout(columns: boxes.boxes.map(\.column), edges: boxes.edges.map { ($0.from, $0.to) })
        let columns = Double((boxes.boxes.map(\.column).max() ?? 0) + 1)
        let width = columns * metrics.width + (columns - 1) * metrics.gap + 2 * metrics.margin
        let height = layout.height * metrics.row - (metrics.row - metrics.height) + 2 * metrics.margin
        return tag(
            "svg",
            .class("graph"),
            .named("viewBox", "0 0 \(Self.text(width)) \(Self.text(height))"),
            .named("width", Self.text(width)),
            .named("height", Self.text(height)),
            .named("role", "group"),
            .named("aria-label", "Graph: " + graph.summary.joined(separator: ", "))
        ) {
            // Marked lines come last, so that no other line covers them.
            let order = boxes.edges.indices.sorted { rank(boxes.edges[$0]) < rank(boxes.edges[$1]) }
            order.map { line(boxes.edges[$0], layout, bends: layout.bends[$0]) }
            boxes.boxes.indices.compactMap { box(boxes.boxes[$0], at: layout.places[$0]) }
            (metrics.hasLabels ? order : []).compactMap { label(boxes.edges[$0], layout, bends: layout.bends[$0]) }
        }
    }

    private func rank(_ edge: GraphBoxes.Edge) -> Int { edge.isCritical ? 2 : edge.isFailed ? 1 : 0 }

    // MARK: Lengths

    private func left(_ column: Int) -> Double { metrics.margin + Double(column) * (metrics.width + metrics.gap) }
    private func middle(_ row: Double) -> Double {
        metrics.margin + row * metrics.row - (metrics.row - metrics.height) / 2
    }

    private static func text(_ value: Double) -> String {
        let rounded = (value * 10).rounded() / 10
        return rounded == rounded.rounded() ? "\(Int(rounded))" : "\(rounded)"
    }

    private func point(_ x: Double, _ y: Double) -> String { "\(Self.text(x)) \(Self.text(y))" }

    // MARK: Lines

    private func line(_ edge: GraphBoxes.Edge, _ layout: GraphLayout, bends: [GraphLayout.Place]) -> Markup {
        let stops = [layout.places[edge.from]] + bends + [layout.places[edge.to]]
        var path = "M\(point(left(stops[0].column) + metrics.width, middle(stops[0].row)))"
        for (from, to) in zip(stops, stops.dropFirst()) {
            let (x, y) = (left(from.column) + metrics.width, middle(from.row))
            let (endX, endY) = (left(to.column), middle(to.row))
            let half = (x + endX) / 2
            path += "C\(point(half, y)) \(point(half, endY)) \(point(endX, endY))"
            // A line passes straight through the column of a bend.
            if to != stops[stops.count - 1] { path += "H\(Self.text(endX + metrics.width))" }
        }
        let (tip, y) = (left(stops[stops.count - 1].column), middle(stops[stops.count - 1].row))
        return tag("g", .class(Self.classes(edge))) {
            tag("path", .class("line"), .named("d", path))
            tag(
                "path",
                .class("tip"),
                .named("d", "M\(point(tip - 7, y - 4))L\(point(tip, y))L\(point(tip - 7, y + 4))Z")
            )
        }
    }

    private static func classes(_ edge: GraphBoxes.Edge) -> String {
        var classes = ["edge"]
        if edge.isCritical { classes.append("critical") }
        if edge.isFailed { classes.append("failed") } else if edge.isMet { classes.append("met") }
        if edge.policies.count == 1, let policy = edge.policies.first { classes.append(policy.rawValue) }
        return classes.joined(separator: " ")
    }

    /// The policy beside the line, unless it is the usual one.
    private func label(_ edge: GraphBoxes.Edge, _ layout: GraphLayout, bends: [GraphLayout.Place]) -> Markup? {
        let words = Set(edge.policies.map { $0.word?.replacing(/^on (first )?/, with: "") ?? "" }).sorted()
        let text = words.count > 1 ? "several" : words.first ?? ""
        guard !text.isEmpty else { return nil }
        let (from, to) = (layout.places[edge.from], bends.first ?? layout.places[edge.to])
        return tag(
            "text",
            .class("policy"),
            .named("x", Self.text(left(from.column) + metrics.width + metrics.gap / 2)),
            .named("y", Self.text((middle(from.row) + middle(to.row)) / 2 + 4)),
            text: text
        )
    }

    // MARK: Boxes

    private func box(_ box: GraphBoxes.Box, at place: GraphLayout.Place) -> Markup? {
        guard let node = graph.nodes[box.names[0]] else { return nil }
        let (x, y) = (left(place.column), middle(place.row) - metrics.height / 2)
        let classes = "box \(box.state.rawValue)" + (box.only == subject ? " own" : "")
        let name = box.only == nil ? common(box) : node.detail.title(visit.view)
        let link =
            box.only == nil
            ? folded(box)
            : visit.links.to("ops", node.detail.id.description, query: ["queue": node.detail.queue])
        return tag("a", .href(link), .class(classes)) {
            tag("title", text: description(box, node))
            rect(x, y, metrics.width, metrics.height, "frame")
            rect(x, y + 8, 4, metrics.height - 16, "stripe")
            text("name", x + 14, y + 18, SafeText.line(name).truncated(toWidth: metrics.letters))
            mark(box.state, x + 14, y + 34)
            text("about", x + 30, y + 34, about(box, node, letters: metrics.letters))
        }
    }

    private func rect(_ x: Double, _ y: Double, _ width: Double, _ height: Double, _ name: String) -> Markup {
        tag(
            "rect",
            .class(name),
            .named("x", Self.text(x)),
            .named("y", Self.text(y)),
            .named("width", Self.text(width)),
            .named("height", Self.text(height)),
            .named("rx", name == "frame" ? "6" : "2")
        )
    }

    private func text(_ name: String, _ x: Double, _ y: Double, _ text: String) -> Markup {
        tag("text", .class(name), .named("x", Self.text(x)), .named("y", Self.text(y)), text: text)
    }

    private func mark(_ state: OperationState, _ x: Double, _ y: Double) -> Markup {
        guard state == .expired else { return text("state-mark", x, y, state.mark()) }
        return tag(
            "path",
            .class("hourglass"),
            .named("transform", "translate(\(point(x, y - 10)))"),
            .named("d", StateMark.hourglassPath)
        )
    }

    /// `executing · 41s`, `12 finished`, without the last parts if they do not fit.
    private func about(_ box: GraphBoxes.Box, _ node: OperationGraph.Node, letters: Int = .max) -> String {
        guard box.only != nil else { return "\(QuantityText.grouped(box.names.count)) \(box.state.rawValue)" }
        if let group = GroupProgress(node.detail) { return "\(box.state.rawValue) · \(group.ended)/\(group.total)" }
        let time = Duration.milliseconds(node.runTime(now: graph.time))
        let run = time < .seconds(10) ? DurationText.precise(time) : DurationText.short(time)
        let parts = [time > .zero ? run : "", node.detail.queue == subject.queue ? "" : node.detail.queue]
        return parts.filter { !$0.isEmpty }.reduce(box.state.rawValue) { text, part in
            text.count + part.count + 3 <= letters ? "\(text) · \(part)" : text
        }
    }

    /// The name of all operations in a box, or the number of their names.
    private func common(_ box: GraphBoxes.Box) -> String {
        let names = Set(box.names.compactMap { graph.nodes[$0]?.detail.title(visit.view) })
        return names.count == 1 ? names.first ?? "" : "\(QuantityText.grouped(names.count)) names"
    }

    private func description(_ box: GraphBoxes.Box, _ node: OperationGraph.Node) -> String {
        guard box.only != nil else { return "\(common(box)): \(about(box, node)), level \(LevelText.text(box.levels))" }
        return "\(node.detail.title(visit.view)), \(node.detail.queue)/\(node.detail.id), \(about(box, node))"
    }
}

/// Levels of a graph, from 1: `3`, `3-5`.
enum LevelText {
    static func text(_ levels: ClosedRange<Int>) -> String {
        levels.count == 1 ? "\(levels.lowerBound + 1)" : "\(levels.lowerBound + 1)-\(levels.upperBound + 1)"
    }

    /// - Returns: nil if the text names no levels.
    static func parse(_ text: String) -> ClosedRange<Int>? {
        let numbers = text.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
        guard (1...2).contains(numbers.count), let first = numbers[0], let last = numbers[numbers.count - 1],
            1 <= first, first <= last, last <= 1_000_000
        else { return nil }
        return first - 1...last - 1
    }
}
