import ExampleBasics
import Foundation
import SluiceCLI

/// Makes a small picture of a large one: binary PPM in, binary PPM out.
struct Thumbnail: DistributedOperation {
    static let name = "image.thumbnail"
    // A picture that cannot be read will not be readable in two seconds; a full disk may be.
    static let retryPolicy = RetryPolicy(attempts: 3)

    let source: String
    let target: String
    /// Pixels; the height follows.
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
        // Another run of this operation may have been faster: writing beside the target and renaming keeps either result whole.
        let data = small.ppm
        try WholeFile.write(data, to: URL(filePath: target))
        return Made(width: width, height: height, bytes: data.count)
    }
}
