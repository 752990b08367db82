import ExampleBasics
import Foundation
import SluiceCLI

/// Makes a small picture from a large one: binary PPM in, binary PPM out.
struct Thumbnail: DistributedOperation {
    static let name = "image.thumbnail"
    // An unreadable picture stays unreadable, but a full disk may have room after a retry.
    static let retryPolicy = RetryPolicy(attempts: 3)

    let source: String
    let target: String
    /// The width in pixels; the height follows.
    let width: Int

    struct Made: Codable, Sendable {
        let width: Int
        let height: Int
        let bytes: Int
    }

    func main(_ context: OperationContext) async throws -> Made {
        let large = try Picture(ppm: Data(contentsOf: URL(filePath: source)))
        context.log("\(source): \(large.width)x\(large.height)")
        let height = max(1, large.height * width / large.width)
        var small = Picture(width: width, height: height)
        for row in 0..<height {
            try Task.checkCancellation()
            small.fill(row: row, averaging: large)
            context.progress(Double(row + 1) / Double(height), "row \(row + 1) of \(height)")
        }
        // Another run of this operation may be faster. A temporary file and a rename keep either result complete.
        let data = small.ppm
        try WholeFile.write(data, to: URL(filePath: target))
        return Made(width: width, height: height, bytes: data.count)
    }
}
