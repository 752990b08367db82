/// An image as in a PNG file: 8 bits per channel, rows from the top.
struct PNG: Hashable {
    /// The channels of a pixel. The raw values are those of the PNG format.
    enum ColorType: UInt8, CaseIterable {
        case gray = 0
        case rgb = 2
        case rgba = 6

        var channels: Int {
            switch self {
            case .gray: 1
            case .rgb: 3
            case .rgba: 4
            }
        }
    }

    let width: Int
    let height: Int
    let colorType: ColorType
    /// `height` rows of `width` pixels.
    let pixels: [UInt8]

    static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    /// Returns the bytes of the file. Pixels are stored without compression, so that the size follows from the
    /// dimensions.
    func encoded() -> [UInt8] {
        var file = Self.signature
        Self.append("IHDR", header(), to: &file)
        Self.append("IDAT", Self.zlibStored(filteredRows()), to: &file)
        Self.append("IEND", [], to: &file)
        return file
    }

    private func header() -> [UInt8] {
        let compression: UInt8 = 0, filtering: UInt8 = 0, interlacing: UInt8 = 0, bitDepth: UInt8 = 8
        return Self.bigEndian(UInt32(width)) + Self.bigEndian(UInt32(height))
            + [bitDepth, colorType.rawValue, compression, filtering, interlacing]
    }

    /// Returns each row after a byte for filter type 0 (none).
    private func filteredRows() -> [UInt8] {
        let rowLength = width * colorType.channels
        var rows: [UInt8] = []
        rows.reserveCapacity(height * (rowLength + 1))
        for row in 0..<height {
            rows.append(0)
            rows += pixels[row * rowLength..<(row + 1) * rowLength]
        }
        return rows
    }

    private static func append(_ type: String, _ data: [UInt8], to file: inout [UInt8]) {
        let body = Array(type.utf8) + data
        file += bigEndian(UInt32(data.count))
        file += body
        file += bigEndian(Checksum.crc32(body))
    }

    /// Returns a zlib stream (RFC 1950) of stored deflate blocks (RFC 1951, 3.2.4).
    private static func zlibStored(_ data: [UInt8]) -> [UInt8] {
        let blockLimit = 0xFFFF
        var stream: [UInt8] = [0x78, 0x01]
        stream.reserveCapacity(data.count + 5 * (data.count / blockLimit + 1) + 6)
        for start in stride(from: 0, to: data.count, by: blockLimit) {
            let end = min(start + blockLimit, data.count)
            let length = UInt16(end - start)
            stream.append(end == data.count ? 1 : 0)
            for part in [length, ~length] { stream += [UInt8(part & 0xFF), UInt8(part >> 8)] }
            stream += data[start..<end]
        }
        return stream + bigEndian(Checksum.adler32(data))
    }

    private static func bigEndian(_ number: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }
}

/// The two checksums of the PNG format.
enum Checksum {
    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ (value >> 1) : value >> 1 }
    }

    /// Returns the CRC-32 of a chunk's type and data, as in ISO 3309.
    static func crc32(_ bytes: [UInt8]) -> UInt32 {
        let table = table
        var value = UInt32.max
        for byte in bytes { value = table[Int((value ^ UInt32(byte)) & 0xFF)] ^ (value >> 8) }
        return ~value
    }

    /// Returns the Adler-32 of the uncompressed data. The sums are reduced before they can overflow.
    static func adler32(_ bytes: [UInt8]) -> UInt32 {
        let modulus: UInt32 = 65_521
        let stretch = 5_552
        var low: UInt32 = 1
        var high: UInt32 = 0
        for start in stride(from: 0, to: bytes.count, by: stretch) {
            for byte in bytes[start..<min(start + stretch, bytes.count)] {
                low += UInt32(byte)
                high += low
            }
            low %= modulus
            high %= modulus
        }
        return high << 16 | low
    }
}
