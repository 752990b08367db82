import Operations
import TerminalText

/// How the monitor runs. Every default is visible in `init`.
package struct MonitorOptions: Sendable {
    package var namespace: String
    /// Where Redis is, for the header; without its password.
    package var place: String
    /// The time between two reads.
    package var interval: Duration
    package var isReadOnly: Bool
    /// End when nothing waits and nothing runs.
    package var endsWhenIdle: Bool
    /// Who cancels, for the record.
    package var identity: String
    /// With what arguments and results are shown.
    package var view: PayloadView
    package var style: Style

    package init(
        namespace: String,
        place: String,
        interval: Duration = .seconds(1),
        isReadOnly: Bool = false,
        endsWhenIdle: Bool = false,
        identity: String,
        view: PayloadView = PayloadView(),
        style: Style
    ) {
        self.namespace = namespace
        self.place = place
        self.interval = min(max(interval, .milliseconds(250)), .seconds(60))
        self.isReadOnly = isReadOnly
        self.endsWhenIdle = endsWhenIdle
        self.identity = identity
        self.view = view
        self.style = style
    }
}

/// The full-screen monitor.
package enum Monitor {
    /// Runs until somebody quits, a signal ends it, or (if asked for) nothing is left to do. The terminal is then as before.
    ///
    /// - Returns: the status to exit with: 0, or 128 and the signal's number (Ctrl-C: 130).
    package static func run(
        _ inspection: any OperatorBroker,
        on terminal: Terminal,
        options: MonitorOptions
    ) async -> Int32 {
        var session = MonitorSession(inspection, terminal: terminal, options: options)
        return await session.run()
    }
}
