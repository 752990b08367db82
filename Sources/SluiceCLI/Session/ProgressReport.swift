/// Shows progress until the task is cancelled. A terminal shows one changing line; other output gets a line every ten
/// seconds if the text has changed.
struct ProgressReport: Sendable {
    private let console: Console

    init(_ console: Console) { self.console = console }

    /// Shows the lines.
    ///
    /// - Parameter line: takes the time since the start, and returns the text; nil = the progress is unknown at the
    ///   moment.
    func show(_ line: (Duration) async -> String?) async {
        guard !console.quiet else { return }
        let interval: Duration = console.isErrorTerminal ? .milliseconds(300) : .seconds(10)
        let start = ContinuousClock.now
        var last = ""
        while (try? await Task.sleep(for: interval)) != nil {
            guard let line = await line(.now - start), !Task.isCancelled else { continue }
            if console.isErrorTerminal {
                console.showStatus(line)
            } else if line != last {
                console.note(line)
            }
            last = line
        }
    }
}
