import ExampleBasics

/// Paints pictures of about a given file size. The painter uses integers only, so that every machine paints equal
/// bytes.
struct Painter {
    /// The content of a picture.
    enum Motif: CaseIterable {
        case gradient, noise, discs, weave
    }

    private var generator: SeededGenerator

    init(generator: SeededGenerator) { self.generator = generator }

    /// Returns a picture whose file has about, and at most, this many bytes.
    mutating func paint(_ motif: Motif, fileBytes: Int) -> PNG {
        let colorType = PNG.ColorType.allCases[random(below: PNG.ColorType.allCases.count)]
        let (width, height) = dimensions(fileBytes: fileBytes, channels: colorType.channels)
        let pixels =
            switch motif {
            case .gradient: gradient(width, height, colorType)
            case .noise: noise(count: width * height * colorType.channels)
            case .discs: discs(width, height, colorType)
            case .weave: weave(width, height, colorType)
            }
        return PNG(width: width, height: height, colorType: colorType, pixels: pixels)
    }

    /// Returns rows and columns that fill the file besides signature, chunks and block headers. The shape is between
    /// 1:2 and 2:1.
    private mutating func dimensions(fileBytes: Int, channels: Int) -> (width: Int, height: Int) {
        let dataBytes = fileBytes - 63 - 5 * (fileBytes / 0xFFFF + 1)
        let square = Double(dataBytes / channels).squareRoot()
        let width = max(1, Int(square) * (70 + random(below: 71)) / 100)
        return (width, max(1, dataBytes / (width * channels + 1)))
    }

    private mutating func random(below limit: Int) -> Int { Int.random(in: 0..<limit, using: &generator) }

    private mutating func noise(count: Int) -> [UInt8] {
        var pixels: [UInt8] = []
        pixels.reserveCapacity(count + 8)
        while pixels.count < count { withUnsafeBytes(of: generator.next().littleEndian) { pixels += $0 } }
        return Array(pixels.prefix(count))
    }

    private mutating func gradient(_ width: Int, _ height: Int, _ colorType: PNG.ColorType) -> [UInt8] {
        let (from, to) = (noise(count: 4), noise(count: 4))
        let reach = width + height
        return fill(width, height, colorType) { x, y, channel in
            let (start, end) = (Int(from[channel]), Int(to[channel]))
            return UInt8(start + (end - start) * (x + y) / reach)
        }
    }

    private mutating func discs(_ width: Int, _ height: Int, _ colorType: PNG.ColorType) -> [UInt8] {
        let discs = (0..<5).map { _ in
            let radius = 1 + random(below: max(1, min(width, height) / 2))
            return (x: random(below: width), y: random(below: height), radius: radius, color: noise(count: 4))
        }
        let ground = noise(count: 4)
        return fill(width, height, colorType) { x, y, channel in
            let hit = discs.first {
                ($0.x - x) * ($0.x - x) + ($0.y - y) * ($0.y - y) <= $0.radius * $0.radius
            }
            return (hit?.color ?? ground)[channel]
        }
    }

    private mutating func weave(_ width: Int, _ height: Int, _ colorType: PNG.ColorType) -> [UInt8] {
        let (warp, weft) = (2 + random(below: 30), 2 + random(below: 30))
        let (one, other) = (noise(count: 4), noise(count: 4))
        return fill(width, height, colorType) { x, y, channel in
            ((x / warp + y / weft).isMultiple(of: 2) ? one : other)[channel]
        }
    }

    private func fill(
        _ width: Int,
        _ height: Int,
        _ colorType: PNG.ColorType,
        value: (_ x: Int, _ y: Int, _ channel: Int) -> UInt8
    ) -> [UInt8] {
        var pixels: [UInt8] = []
        pixels.reserveCapacity(width * height * colorType.channels)
        for y in 0..<height {
            for x in 0..<width {
                for channel in 0..<colorType.channels { pixels.append(value(x, y, channel)) }
            }
        }
        return pixels
    }
}
