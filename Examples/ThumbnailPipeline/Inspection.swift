import ExampleBasics
import ExampleServer
import Foundation
import Operations
import Pictures

/// Looks at a run from outside: at the file that was written, at the journal, at the server.
struct Inspection {
    let gallery: Gallery
    let graph: Pipeline.Graph
    let journal: Journal
    let traffic: Traffic
    let output: URL

    /// Those that there are no thumbnails of.
    private var absent: Set<Int> { [gallery.missing, gallery.damaged] }

    func claims() throws -> Claims {
        var claims = Claims()
        let most = traffic.mostInFlight
        claims.claim("at most 4 downloads at a time", most <= 4, "\(most)")
        claims.claim("at most 2 pictures at a time", journal.mostAtOnce <= 2, "\(journal.mostAtOnce)")
        claims.claim("every thumbnail after its download", areInOrder, "\(gallery.count - 1)")
        claims.claim("the sheet after all of them", isSheetLast, journal.entries.last ?? "")
        let (lost, spoilt) = (graph.thumbnails[gallery.missing], graph.thumbnails[gallery.damaged])
        let isLost = graph.downloads[gallery.missing].state == .dead && lost.state == .cancelled
        claims.claim("a missing picture takes its thumbnail along", isLost, "\(lost.state)")
        claims.claim("what is no picture is found out", spoilt.state == .dead, reason(of: spoilt))
        let sheet = try Picture(png: Array(Data(contentsOf: output)))
        let right = (0..<gallery.count).filter { isRight($0, on: sheet) }.count
        claims.claim("every picture in its place on the sheet", right == gallery.count, "\(right) of \(gallery.count)")
        return claims
    }

    private var areInOrder: Bool {
        (0..<gallery.count).allSatisfy { index in
            index == gallery.missing
                || journal.has("has download \(index)", after: ["end folder", "begin resize \(index)"])
        }
    }

    private var isSheetLast: Bool {
        let thumbnails = (0..<gallery.count).filter { $0 != gallery.missing }.map { "end resize \($0)" }
        return journal.has("begin sheet", after: thumbnails) && journal.entries.last == "end sheet"
    }

    private func reason(of operation: LocalOperation) -> String {
        guard let operation = operation as? ValueOperation<Picture>, case .failure(let error) = operation.result else {
            return "none"
        }
        return "\(error)"
    }

    /// Whether the two halves of a cell have the picture's colours.
    private func isRight(_ index: Int, on sheet: Picture) -> Bool {
        let layout = ContactSheet(count: gallery.count)
        let (corner, side) = (layout.corner(index), layout.side)
        let rows = corner.y + side / 2 - 4..<corner.y + side / 2 + 4
        let middle = corner.x + side / 2
        let halves = (sheet.average(middle - 16..<middle - 8, rows), sheet.average(middle + 8..<middle + 16, rows))
        if absent.contains(index) { return halves == (ContactSheet.missing, ContactSheet.missing) }
        return halves == Gallery.colors(index)
    }
}
