/// Red, green and blue of every pixel, one byte each, rows from the top.
package struct Picture: Sendable, Hashable {
    package typealias Color = SIMD3<UInt8>

    package let width: Int
    package let height: Int
    package private(set) var pixels: [Color]

    /// Makes a picture in one colour.
    package init(width: Int, height: Int, color: Color = .zero) {
        precondition(width > 0 && height > 0, "a picture has pixels")
        self.init(width: width, height: height, pixels: [Color](repeating: color, count: width * height))
    }

    init(width: Int, height: Int, pixels: [Color]) {
        (self.width, self.height, self.pixels) = (width, height, pixels)
    }

    package subscript(x: Int, y: Int) -> Color {
        get { pixels[y * width + x] }
        set { pixels[y * width + x] = newValue }
    }

    /// Returns a smaller picture that fits into a square and keeps its shape. Each pixel is the average of the pixels
    /// that it replaces.
    package func fitted(into side: Int) -> Picture {
        guard max(width, height) > side else { return self }
        let (width, height) = (max(1, width * side / max(width, height)), max(1, height * side / max(width, height)))
        var small = Picture(width: width, height: height)
        for y in 0..<height {
            let rows = y * self.height / height..<max((y + 1) * self.height / height, y * self.height / height + 1)
            for x in 0..<width {
                let first = x * self.width / width
                small[x, y] = average(first..<max((x + 1) * self.width / width, first + 1), rows)
            }
        }
        return small
    }

    /// Returns the average colour of a part.
    package func average(_ columns: Range<Int>, _ rows: Range<Int>) -> Color {
        var sum = SIMD3<UInt32>.zero
        for y in rows {
            for pixel in pixels[y * width + columns.lowerBound..<y * width + columns.upperBound] {
                sum &+= SIMD3<UInt32>(truncatingIfNeeded: pixel)
            }
        }
        return Color(truncatingIfNeeded: sum / UInt32(columns.count * rows.count))
    }

    /// Draws another picture on this one, and cuts off the parts that do not fit.
    package mutating func draw(_ other: Picture, x: Int, y: Int) {
        for row in 0..<min(other.height, height - y) {
            for column in 0..<min(other.width, width - x) { self[x + column, y + row] = other[column, row] }
        }
    }

    /// Returns lines for a colour terminal, with two rows of pixels in each line.
    package func lines(columns: Int) -> [String] {
        let small = fitted(into: max(columns, columns * height / width))
        return stride(from: 0, to: small.height - 1, by: 2).map { y in
            let line = (0..<small.width).map { x in
                "\u{1B}[38;2;\(Self.code(small[x, y]))m\u{1B}[48;2;\(Self.code(small[x, y + 1]))m▀"
            }
            return line.joined() + "\u{1B}[0m"
        }
    }

    private static func code(_ color: Color) -> String { "\(color.x);\(color.y);\(color.z)" }
}
