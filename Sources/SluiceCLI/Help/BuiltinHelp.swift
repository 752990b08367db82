import BuiltinOperations
import Foundation
import SluiceOperator

/// The text of `help built-ins`.
enum BuiltinHelp {
    /// The topics of `help` that print this text.
    static let topics = ["built-ins", "builtins"]

    static var text: String {
        let operations = BuiltinReference.all.map(section).joined(separator: "\n")
        return """
            BUILT-IN OPERATIONS
            k=text is a string, k:=json a number, a list or an object: \(Program.name) enqueue http url=https://h/ timeout:=5

            \(operations)
            exec, http and download need a worker that allows them: \(Program.name) worker --allow exec,http,download

            WHAT PROGRAMS GET
            Programs of exec and of worker --handler NAME=PROGRAM get these environment variables of their worker:
              \(ProgramEnvironment.standard.joined(separator: ", "))
            and those that --pass-env names: \(Program.name) worker --allow exec --pass-env DATABASE_URL,'AWS_*'
            The env of an exec operation replaces them. SLUICE_OPERATION_ID, SLUICE_OPERATION_NAME, SLUICE_ATTEMPT, SLUICE_DELIVERY,
            SLUICE_FENCE and SLUICE_QUEUE are always set, and so is SLUICE_HEADERS: {} or the headers, as one JSON object.
            SLUICE_CHECKPOINT has the last checkpoint of a handler.
            An exec program runs in cwd and reads the text of --stdin. A handler runs in the worker's folder and reads its arguments
            from stdin.
            """
    }

    private static func section(_ operation: BuiltinReference) -> String {
        let width = 10
        let note = operation.isRestricted ? " (--allow \(operation.name))" : ""
        var lines = ["\(operation.name)\(note): \(operation.summary)"]
        switch operation.arguments {
        case nil: lines.append("  takes any arguments")
        case let arguments?:
            lines += arguments.map {
                "  \($0.name.padding(toLength: width, withPad: " ", startingAt: 0))"
                    + "\($0.form.padding(toLength: width, withPad: " ", startingAt: 0))\($0.text)"
            }
        }
        if !operation.result.isEmpty { lines.append("  result: \(operation.result)") }
        lines.append("  \(Program.name) enqueue \(operation.example)")
        return lines.joined(separator: "\n") + "\n"
    }
}
