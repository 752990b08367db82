/// Makes errors for the lines of a file. All lines are checked before the first operation is sent.
package struct LineErrors: Sendable {
    let file: String
    /// A correct line.
    let example: String

    /// Makes the error of a line.
    func error(_ line: Int, _ message: String) -> CLIError {
        CLIError(.usage, "\(file):\(line): \(message); nothing was enqueued", fix: "a line like \(example)")
    }
}
