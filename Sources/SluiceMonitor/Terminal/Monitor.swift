import Operations
import TerminalText

/// The options of the monitor.
package struct MonitorOptions: Sendable {
    package var namespace: String
    /// The address of Redis for the header, without password.
    package var place: String
    /// The time between two reads.
    package var interval: Duration
    package var isReadOnly: Bool
    /// Whether to end when no operation waits or runs.
    package var endsWhenIdle: Bool
    /// The name of the user, stored with a cancel.
    package var identity: String
    /// The keys and the redaction with which arguments and results are shown.
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
    /// Runs until the user quits, a signal ends it, or, with `endsWhenIdle`, no operation is left.
    ///
    /// The terminal is restored at the end.
    ///
    /// - Returns: the exit status: 0, or 128 plus the signal's number (Ctrl-C: 130).
    package static func run(
        _ inspection: any OperatorBroker,
        on terminal: Terminal,
        options: MonitorOptions
    ) async -> Int32 {
        var session = MonitorSession(inspection, terminal: terminal, options: options)
        return await session.run()
    }
}
