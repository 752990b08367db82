import CZlib

/// gzip (RFC 1952) for whole bodies, by zlib.
enum Gzip {
    struct Damaged: Error, CustomStringConvertible {
        let description: String
    }

    /// The number of window bits, plus 16 for a gzip header and trailer instead of zlib's.
    private static let format: Int32 = 15 + 16

    static func compress(_ bytes: [UInt8]) throws -> [UInt8] {
        var stream = z_stream()
        // The macro deflateInit2 makes this call.
        let size = Int32(MemoryLayout<z_stream>.size)
        let begun = deflateInit2_(&stream, 6, Z_DEFLATED, format, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size)
        guard begun == Z_OK else { throw Damaged(description: "zlib cannot compress: \(begun)") }
        defer { deflateEnd(&stream) }
        // The output never exceeds this limit, so one call is enough.
        let limit = Int(deflateBound(&stream, UInt(bytes.count)))
        let (status, compressed) = run(&stream, bytes, into: limit) { deflate(&$0, Z_FINISH) }
        guard status == Z_STREAM_END else { throw Damaged(description: "zlib cannot compress: \(status)") }
        return compressed
    }

    /// - Parameter limit: the most bytes of output. A small body can decompress to very many.
    static func decompress(_ bytes: [UInt8], limit: Int) throws -> [UInt8] {
        var stream = z_stream()
        let size = Int32(MemoryLayout<z_stream>.size)
        guard inflateInit2_(&stream, format, ZLIB_VERSION, size) == Z_OK else {
            throw Damaged(description: "zlib cannot decompress")
        }
        defer { inflateEnd(&stream) }
        let (status, plain) = run(&stream, bytes, into: limit + 1) { inflate(&$0, Z_FINISH) }
        guard plain.count <= limit else { throw Damaged(description: "a body of more than \(limit) bytes") }
        guard status == Z_STREAM_END, stream.avail_in == 0 else { throw Damaged(description: "not a whole gzip body") }
        return plain
    }

    private static func run(
        _ stream: inout z_stream,
        _ bytes: [UInt8],
        into limit: Int,
        _ step: (inout z_stream) -> Int32
    ) -> (status: Int32, [UInt8]) {
        var (bytes, status) = (bytes, Z_OK)
        let output = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            bytes.withUnsafeMutableBufferPointer { input in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                stream.next_out = buffer.baseAddress
                stream.avail_out = UInt32(limit)
                status = step(&stream)
            }
            count = limit - Int(stream.avail_out)
        }
        return (status, output)
    }
}
