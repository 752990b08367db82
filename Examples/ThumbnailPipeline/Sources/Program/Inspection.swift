import ExampleBasics
import ExampleServer
import Foundation
import Operations
import PictureSteps
import Pictures

/// Checks a run from outside: the written files, the server, and the ends of the steps.
struct Inspection {
    let gallery: Gallery
    let graph: Pipeline.Graph
    let folder: RunFolder
    let traffic: Traffic
    let output: URL

    /// The pictures without thumbnails.
    private var absent: Set<Int> { [gallery.missing, gallery.damaged] }

    func claims() async throws -> Claims {
        let lines = folder.journal.lines
        let entries = lines.map(\.entry)
        var claims = Claims()
        let most = traffic.mostInFlight
        claims.claim("at most 4 downloads at a time", most <= 4, "\(most)")
        let pictures = Journal.mostAtOnce(lines) { !$0.hasPrefix("download ") }
        claims.claim("at most 2 pictures at a time", pictures <= 2, "\(pictures)")
        claims.claim("every thumbnail after its download", areInOrder(entries), "\(gallery.count - 1)")
        claims.claim("the sheet after all of them", isSheetLast(entries), entries.last ?? "")
        let download = try await graph.downloads[gallery.missing].end()
        let lost = try await graph.thumbnails[gallery.missing].end()
        let isLost = download.state == .dead && lost.state == .cancelled
        claims.claim("a missing picture takes its thumbnail along", isLost, "\(lost.state)")
        let spoilt = try await graph.thumbnails[gallery.damaged].end()
        claims.claim("what is no picture is found out", spoilt.state == .dead, spoilt.reason)
        let sheet = try Picture(png: Array(Data(contentsOf: output)))
        let right = (0..<gallery.count).filter { isRight($0, on: sheet) }.count
        claims.claim("every picture in its place on the sheet", right == gallery.count, "\(right) of \(gallery.count)")
        return claims
    }

    private func areInOrder(_ entries: [String]) -> Bool {
        (0..<gallery.count).allSatisfy { picture in
            let earlier = ["end folder", "end download \(picture)"]
            return picture == gallery.missing || Journal.has("begin resize \(picture)", after: earlier, in: entries)
        }
    }

    private func isSheetLast(_ entries: [String]) -> Bool {
        let thumbnails = (0..<gallery.count).filter { $0 != gallery.missing }
            .map { $0 == gallery.damaged ? "fail resize \($0)" : "end resize \($0)" }
        return Journal.has("begin sheet", after: thumbnails, in: entries) && entries.last == "end sheet"
    }

    /// Whether the two halves of a cell have the picture's colours.
    private func isRight(_ index: Int, on sheet: Picture) -> Bool {
        let layout = ContactSheet(count: gallery.count)
        let (corner, side) = (layout.corner(index), ContactSheet.side)
        let rows = corner.y + side / 2 - 4..<corner.y + side / 2 + 4
        let middle = corner.x + side / 2
        let halves = (sheet.average(middle - 16..<middle - 8, rows), sheet.average(middle + 8..<middle + 16, rows))
        if absent.contains(index) { return halves == (ContactSheet.missing, ContactSheet.missing) }
        return halves == Gallery.colors(index)
    }
}
