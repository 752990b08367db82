// Pictures are PPM files, the simplest format, because the example is about the operation.

import Foundation
import SluiceCLI

/// Red, green and blue of every pixel, one byte each.
struct Picture {
    let width: Int
    let height: Int
    private(set) var pixels: [UInt8]

    init(width: Int, height: Int) {
        self.width = width
        self.height = height
        pixels = [UInt8](repeating: 0, count: width * height * 3)
    }

    /// Reads a binary PPM: `P6 WIDTH HEIGHT 255` and the pixels. Source: https://netpbm.sourceforge.net/doc/ppm.html
    init(ppm: Data) throws {
        var rest = ppm[...]
        func word() -> String {
            rest = rest.drop { $0 <= 32 }
            let word = rest.prefix { $0 > 32 }
            rest = rest.dropFirst(word.count)
            return String(decoding: word, as: UTF8.self)
        }
        let magic = word()
        guard magic == "P6", let width = Int(word()), let height = Int(word()), word() == "255", width > 0, height > 0,
            width <= 1 << 16, height <= 1 << 16, rest.count >= 1 + width * height * 3
        else { throw UnreadablePicture() }
        self.width = width
        self.height = height
        pixels = Array(rest.dropFirst().prefix(width * height * 3))
    }

    /// Fills a row: each pixel becomes the average of the pixels that it replaces.
    mutating func fill(row: Int, averaging large: Picture) {
        let rows = Self.range(row, of: height, in: large.height)
        for column in 0..<width {
            let columns = Self.range(column, of: width, in: large.width)
            for channel in 0..<3 {
                var sum = 0
                for y in rows { for x in columns { sum += Int(large.pixels[(y * large.width + x) * 3 + channel]) } }
                pixels[(row * width + column) * 3 + channel] = UInt8(sum / (rows.count * columns.count))
            }
        }
    }

    private static func range(_ index: Int, of count: Int, in length: Int) -> Range<Int> {
        let first = index * length / count
        return first..<max(first + 1, (index + 1) * length / count)
    }

    var ppm: Data { Data("P6\n\(width) \(height)\n255\n".utf8) + pixels }
}

struct UnreadablePicture: OperationFailing, CustomStringConvertible {
    var failureType: String { "picture" }
    var isRetryable: Bool { false }
    var description: String { "not a binary PPM with 8 bits a channel" }
}
