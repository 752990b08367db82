import CPNG

/// An error from libpng.
package struct PNGError: Error, Sendable, CustomStringConvertible {
    package let description: String
}

extension Picture {
    /// The most pixels of a picture. A small file can claim to be a huge picture.
    package static let pixelLimit = 1 << 26

    /// Reads a PNG file of any kind. Transparent parts become black.
    package init(png bytes: [UInt8]) throws {
        // libpng keeps the address of the bytes between the two calls.
        self = try bytes.withUnsafeBytes { source in
            var image = png_image()
            image.version = png_uint_32(PNG_IMAGE_VERSION)
            defer { png_image_free(&image) }
            guard png_image_begin_read_from_memory(&image, source.baseAddress, source.count) != 0 else {
                throw PNGError(image)
            }
            let (width, height) = (Int(image.width), Int(image.height))
            // The product cannot overflow, because both numbers have at most 31 bits.
            guard width * height <= Self.pixelLimit else {
                throw PNGError(description: "a picture of \(width) by \(height) pixels")
            }
            image.format = Self.rgb
            var black = png_color()
            var channels = [UInt8](repeating: 0, count: width * height * 3)
            guard png_image_finish_read(&image, &black, &channels, 0, nil) != 0 else { throw PNGError(image) }
            return Picture(width: width, height: height, channels: channels)
        }
    }

    /// Returns the bytes of a PNG file.
    package func png() throws -> [UInt8] {
        let channels = pixels.flatMap { [$0.x, $0.y, $0.z] }
        // The limit is hardly ever too small. If it is, libpng returns the needed size.
        var limit = channels.count + channels.count / 8 + height + 4096
        while true {
            var image = png_image()
            image.version = png_uint_32(PNG_IMAGE_VERSION)
            (image.width, image.height, image.format) = (png_uint_32(width), png_uint_32(height), Self.rgb)
            defer { png_image_free(&image) }
            var size = limit
            var isWritten = false
            let file = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
                isWritten = png_image_write_to_memory(&image, buffer.baseAddress, &size, 0, channels, 0, nil) != 0
                count = isWritten ? size : 0
            }
            if isWritten { return file }
            guard size > limit else { throw PNGError(image) }
            limit = size
        }
    }

    /// The macro PNG_FORMAT_RGB, which Swift does not import.
    private static let rgb = png_uint_32(PNG_FORMAT_FLAG_COLOR)

    private init(width: Int, height: Int, channels: [UInt8]) {
        let pixels = (0..<width * height).map { Color(channels[$0 * 3], channels[$0 * 3 + 1], channels[$0 * 3 + 2]) }
        self.init(width: width, height: height, pixels: pixels)
    }
}

extension PNGError {
    fileprivate init(_ image: png_image) {
        let text = withUnsafeBytes(of: image.message) { $0.prefix { $0 != 0 } }
        self.init(description: text.isEmpty ? "no PNG" : String(decoding: text, as: UTF8.self))
    }
}
