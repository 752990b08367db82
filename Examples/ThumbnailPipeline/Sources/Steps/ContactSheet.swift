import Pictures

/// The layout of a sheet: pictures row after row, each in the middle of its cell.
package struct ContactSheet: Sendable, Hashable {
    let count: Int
    var columns = 6
    /// The space around a thumbnail.
    var gap = 8

    /// The longest side of a thumbnail.
    package static let side = 96
    package static let paper = Picture.Color(24, 24, 28)
    package static let missing = Picture.Color(90, 30, 30)

    package init(count: Int) { self.count = count }

    private var side: Int { Self.side }
    private var pitch: Int { side + gap }
    private var width: Int { min(columns, count) * pitch + gap }
    private var height: Int { (count + columns - 1) / columns * pitch + gap }

    /// The corner of a cell.
    package func corner(_ index: Int) -> (x: Int, y: Int) {
        (gap + index % columns * pitch, gap + index / columns * pitch)
    }

    /// - Parameter thumbnails: the thumbnails in order; nil = missing, drawn as a cell in a special colour.
    package func draw(_ thumbnails: [Picture?]) -> Picture {
        var sheet = Picture(width: width, height: height, color: Self.paper)
        for (index, thumbnail) in thumbnails.enumerated() {
            let thumbnail = thumbnail ?? Picture(width: side, height: side, color: Self.missing)
            let corner = corner(index)
            let (right, down) = ((side - thumbnail.width) / 2, (side - thumbnail.height) / 2)
            sheet.draw(thumbnail, x: corner.x + right, y: corner.y + down)
        }
        return sheet
    }
}
