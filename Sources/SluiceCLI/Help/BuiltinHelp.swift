import BuiltinOperations
import Foundation

/// The text of `help built-ins`.
enum BuiltinHelp {
    /// The words behind `help` that ask for it.
    static let topics = ["built-ins", "builtins"]

    static var text: String {
        let operations = BuiltinReference.all.map(section).joined(separator: "\n")
        return """
            BUILT-IN OPERATIONS
            k=text is a string, k:=json a number, a list or an object: \(Program.name) enqueue http url=https://h/ timeout:=5

            \(operations)
            exec, http and download need a worker that allows them: \(Program.name) worker --allow exec,http,download

            WHAT PROGRAMS GET
            Programs of exec and of worker --handler NAME=PROGRAM get these variables of their worker, if it has them:
              \(ProgramEnvironment.standard.joined(separator: ", "))
            and the others that --pass-env names: \(Program.name) worker --allow exec --pass-env DATABASE_URL,'AWS_*'
            The env of an exec operation replaces them. SLUICE_OPERATION_ID, SLUICE_OPERATION_NAME, SLUICE_ATTEMPT, SLUICE_DELIVERY,
            SLUICE_FENCE and SLUICE_QUEUE are always set; a handler that left a checkpoint finds it in SLUICE_CHECKPOINT.
            A program of exec runs in cwd, a handler in the worker's folder. A handler reads its arguments from stdin; a program of exec
            reads what --stdin gave, else nothing.
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
