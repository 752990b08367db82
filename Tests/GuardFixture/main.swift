import BuiltinOperations
import Foundation
import Operations

// A small version of a worker's executable: it can be a guard, and it can run `exec` with the given arguments until it
// is killed.
ExecGuard.runIfAsked()

struct Link: OperationLink {
    var ownsLease: Bool { true }
    var cancellation: OperationCancellation? { nil }

    func write(_ content: Report.Content) {
        if case .log(let line) = content { FileHandle.standardOutput.write(Data(line + [0x0a])) }
    }
}

let envelope = OperationEnvelope(name: "exec", arguments: Array(CommandLine.arguments[1].utf8))
let claimed = ClaimedOperation(fence: 1, header: OperationHeader(id: OperationID()), envelope: envelope.encoded())
let context = OperationContext(claimed: claimed, envelope: envelope, queue: "default", link: Link())
for handler in BuiltinOperations.handlers(allowed: ["exec"]) where handler.name == "exec" {
    _ = try? await handler.body(envelope.arguments, context)
}
