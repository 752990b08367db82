import Foundation

/// A hand-written `Operation` subclass in a local queue, first with the classic mistake, then correct.
@main
enum App {
    static func main() async throws {
        var demonstration = Demonstration()
        try await demonstration.forgetful()
        try await demonstration.right()
        print("\n\(demonstration.report.table)")
        if !demonstration.report.broken.isEmpty { exit(1) }
    }
}
