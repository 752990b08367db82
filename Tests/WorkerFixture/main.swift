import Foundation
import SluiceCLI

// `sluice` with the operations of tests. The two below are for tests that kill a worker in the middle of a body. Each
// body writes its steps to a file, and waits at a gate: a pipe that the test opens for writing.

/// The folder that a test watches.
struct Journal: Codable, Sendable {
    let folder: String

    func note(_ text: String) throws {
        let url = URL(filePath: folder).appending(path: "journal")
        let old = (try? String(contentsOf: url, encoding: .utf8)) ?? ""
        try Data((old + text + "\n").utf8).write(to: url, options: .atomic)
    }

    /// Waits on a separate thread, because the wait blocks until the pipe has a writer.
    func gate() async {
        let path = folder + "/gate"
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                close(open(path, O_RDONLY))
                continuation.resume()
            }
        }
    }
}

struct Ship: DistributedOperation {
    static let name = "order.ship"
    let folder: String

    func main(_ context: OperationContext) async throws -> String {
        let journal = Journal(folder: folder)
        let receipt = try await context.once("charge") {
            try journal.note("charge")
            return "receipt of delivery \(context.delivery)"
        }
        try journal.note("ship in delivery \(context.delivery)")
        await journal.gate()
        return receipt
    }
}

struct SendLetters: DistributedOperation {
    static let name = "letters.send"
    let folder: String
    let count: Int
    /// The letter at which the body waits.
    let gate: Int

    func main(_ context: OperationContext) async throws {
        let journal = Journal(folder: folder)
        try await context.iterate(0..<count) { number in
            try journal.note("letter \(number)")
            if number == gate { await journal.gate() }
        }
    }
}

await SluiceMain.run {
    $0.register(Ship.self)
    $0.register(SendLetters.self)
    $0.register(Spin.self)
    $0.register(Brood.self)
    $0.register(Crawl.self)
}
