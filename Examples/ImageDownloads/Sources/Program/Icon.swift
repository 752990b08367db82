import Foundation

/// A downloaded picture, unchanged.
struct Icon: Sendable, Hashable {
    let data: Data

    init(data: Data) { self.data = data }

    /// Reads a downloaded file.
    init(file: String) throws { data = try Data(contentsOf: URL(filePath: file)) }

    /// Red, green and blue of the first pixel of a binary PPM; nil = the data is no binary PPM.
    var color: [UInt8]? {
        guard data.starts(with: Data("P6\n".utf8)), data.count >= 3 else { return nil }
        return Array(data.suffix(3))
    }
}
