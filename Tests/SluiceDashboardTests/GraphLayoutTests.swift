import Testing

@testable import SluiceDashboard

@Suite("Places in a drawn graph", .timeLimit(.minutes(60)))
struct GraphLayoutTests {
    @Test("A diamond is symmetric: both ends are in the middle")
    func diamond() {
        let layout = GraphLayout(columns: [0, 1, 1, 2], edges: [(0, 1), (0, 2), (1, 3), (2, 3)])
        #expect(layout.height == 2)
        #expect(layout.places.map(\.row) == [1, 0.5, 1.5, 1] && layout.places.map(\.column) == [0, 1, 1, 2])
    }

    @Test("Boxes of a column do not overlap, and edges do not cross if they need not")
    func order() {
        // Each box of the second column has a dependency at the opposite end of the first.
        let layout = GraphLayout(columns: [0, 0, 0, 1, 1, 1], edges: [(0, 5), (1, 4), (2, 3)])
        let rows = layout.places.map(\.row)
        for (from, to) in [(0, 5), (1, 4), (2, 3)] { #expect(rows[from] == rows[to]) }
        #expect(Set(rows[0...2]).count == 3 && abs(rows[0] - rows[1]) >= 1)
    }

    @Test("An edge over several columns has a bend in each one between, beside the boxes")
    func bends() {
        let layout = GraphLayout(columns: [0, 1, 2, 3], edges: [(0, 1), (1, 2), (2, 3), (0, 3)])
        #expect(layout.bends[3].map(\.column) == [1, 2])
        for bend in layout.bends[3] { #expect(abs(bend.row - layout.places[bend.column].row) >= 0.69) }
    }

    @Test("A graph without edges, and one without boxes, have a layout")
    func small() {
        #expect(GraphLayout(columns: [], edges: []).places.isEmpty)
        #expect(GraphLayout(columns: [0, 0], edges: []).height == 2)
    }

    @Test("Levels are read as they are written", arguments: ["1", "3-5"])
    func levels(_ text: String) {
        #expect(LevelText.parse(text).map(LevelText.text) == text)
    }
}
