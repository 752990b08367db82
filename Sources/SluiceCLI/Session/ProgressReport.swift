/// Shows how far something is, until its task is cancelled: on a terminal in one changing line, elsewhere as a line every ten seconds if something changed.
struct ProgressReport: Sendable {
    private let console: Console

    init(_ console: Console) { self.console = console }

    /// - Parameter line: takes the time since the beginning; nil = it is not known now.
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
