/// The errors of a file whose lines are all checked before the first operation is sent.
package struct LineErrors: Sendable {
    let file: String
    /// A line as it should be.
    let example: String

    /// What is wrong with a line, before anything was sent.
    func error(_ line: Int, _ message: String) -> CLIError {
        CLIError(.usage, "\(file):\(line): \(message); nothing was enqueued", fix: "a line like \(example)")
    }
}
