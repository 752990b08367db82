/// Reads PNG files with stored deflate blocks, and checks every length and checksum. The rules are written here a
/// second time, so a mistake in the writer is not repeated.
struct PNGReader {
    struct Flaw: Error, Hashable {
        let what: String
    }

    private(set) var width = 0
    private(set) var height = 0
    private(set) var channels = 0
    /// The rows, each with its filter byte in front.
    private(set) var rows: [UInt8] = []
    private(set) var chunkTypes: [String] = []

    init(_ file: [UInt8]) throws {
        try Self.check(Array(file.prefix(8)) == [137, 80, 78, 71, 13, 10, 26, 10], "signature")
        var rest = file.dropFirst(8)
        var stream: [UInt8] = []
        while !rest.isEmpty {
            let chunk = try Self.takeChunk(&rest)
            chunkTypes.append(chunk.type)
            if chunk.type == "IHDR" { try readHeader(chunk.data) }
            if chunk.type == "IDAT" { stream += chunk.data }
        }
        try Self.check(chunkTypes.first == "IHDR" && chunkTypes.last == "IEND", "order of chunks")
        rows = try Self.inflate(stream)
        try Self.check(rows.count == height * (1 + width * channels), "amount of pixels")
        try Self.check((0..<height).allSatisfy { rows[$0 * (1 + width * channels)] == 0 }, "filter types")
    }

    private mutating func readHeader(_ data: [UInt8]) throws {
        try Self.check(data.count == 13, "length of IHDR")
        (width, height) = (Self.bigEndian(data[0..<4]), Self.bigEndian(data[4..<8]))
        let channelsByColorType: [UInt8: Int] = [0: 1, 2: 3, 6: 4]
        channels = channelsByColorType[data[9]] ?? 0
        try Self.check(width > 0 && height > 0 && channels > 0, "dimensions and colour type")
        try Self.check(data[8] == 8 && Array(data[10...]) == [0, 0, 0], "depth, compression, filter, interlacing")
    }

    private static func takeChunk(_ rest: inout ArraySlice<UInt8>) throws -> (type: String, data: [UInt8]) {
        try check(rest.count >= 12, "chunk is cut")
        let length = bigEndian(rest.prefix(4))
        try check(rest.count >= 12 + length, "chunk length")
        let body = rest.dropFirst(4).prefix(4 + length)
        let sum = bigEndian(rest.dropFirst(8 + length).prefix(4))
        try check(sum == Int(bitwiseCRC32(body)), "CRC")
        rest = rest.dropFirst(12 + length)
        return (String(decoding: body.prefix(4), as: UTF8.self), Array(body.dropFirst(4)))
    }

    private static func inflate(_ stream: [UInt8]) throws -> [UInt8] {
        try check(stream.count >= 6 && stream[0] & 0x0F == 8, "zlib method")
        try check((Int(stream[0]) * 256 + Int(stream[1])).isMultiple(of: 31) && stream[1] & 0x20 == 0, "zlib header")
        var rest = stream[2...]
        var data: [UInt8] = []
        var isLast = false
        while !isLast {
            try check(rest.count >= 5, "block is cut")
            let head = Array(rest.prefix(5))
            isLast = head[0] == 1
            try check(head[0] <= 1, "block type")
            let length = Int(head[1]) + Int(head[2]) << 8
            try check(length ^ 0xFFFF == Int(head[3]) + Int(head[4]) << 8, "block length")
            try check(rest.count >= 5 + length, "block is cut")
            data += rest.dropFirst(5).prefix(length)
            rest = rest.dropFirst(5 + length)
        }
        try check(rest.count == 4 && bigEndian(rest) == plainAdler32(data), "Adler-32")
        return data
    }

    private static func bitwiseCRC32(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        var value: UInt32 = 0xFFFF_FFFF
        for byte in bytes {
            value ^= UInt32(byte)
            for _ in 0..<8 { value = value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
        }
        return value ^ 0xFFFF_FFFF
    }

    private static func plainAdler32(_ bytes: [UInt8]) -> Int {
        var (low, high) = (1, 0)
        for byte in bytes {
            low = (low + Int(byte)) % 65_521
            high = (high + low) % 65_521
        }
        return high << 16 + low
    }

    private static func bigEndian(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 + Int($1) } }

    private static func check(_ condition: Bool, _ what: String) throws {
        if !condition { throw Flaw(what: what) }
    }
}
