import Hummingbird
import Operations
import Sluice
import SluiceOperator

/// The parts of a dashboard that all requests share.
struct Site: Sendable {
    let options: DashboardOptions
    let client: SluiceClient
    let loop: SnapshotLoop
    let changes: ChangeRunner
    let lists = ListReads()
    let rows: ListRows
    let words = KnownWords()
    let unknownOutcomes = UnknownOutcomes()
    let sessions = Sessions()
    let cache = ReadCache()
    let streams = StreamCount(limit: Limits.streams)
    let bodies = RequestLimit(atOnce: Limits.bodiesAtOnce, waiting: Limits.requestsWaiting)
    let requests = RequestLimit(atOnce: Limits.requestsAtOnce, waiting: Limits.requestsWaiting)
    let logins = LoginLimit()
    let links: Links
    /// Called when a login link was used.
    let onLogin: @Sendable (Visitor) -> Void

    init(
        _ client: SluiceClient,
        _ options: DashboardOptions,
        onLogin: @escaping @Sendable (Visitor) -> Void = { _ in }
    ) {
        var options = options
        options.view.comparesShown = true
        (self.client, self.options, self.onLogin) = (client, options, onLogin)
        loop = SnapshotLoop(client.broker, interval: options.interval, patience: options.patience)
        changes = ChangeRunner(client.broker, view: options.view, lease: options.changeLease) { [loop] in
            await loop.expire()
        }
        rows = ListRows(client.broker, view: options.view)
        links = Links(basePath: options.basePath)
    }

    var broker: any OperatorBroker { client.broker }

    /// The value of the header `Set-Cookie`.
    func setCookie(_ name: String, _ value: String, _ more: String) -> String {
        "\(name)=\(value); Path=\(options.basePath.isEmpty ? "/" : options.basePath); SameSite=Lax\(more)"
    }

    /// The name of the session's cookie. Cookies do not know ports, so dashboards of one host need different names.
    /// Sessions end with the process, and so does the name.
    let cookie = "sluice-\(UInt64.random(in: .min ... .max))"
}

/// A request for a page, with the data that every page needs.
struct Visit: Sendable {
    let site: Site
    let visitor: Visitor
    let reading: Reading
    /// The variable parts of the path, and the query.
    let parameters: Parameters
    let query: FormFields
    /// The link of this page with its whole view.
    let link: Link
    let theme: Theme
    let now = ContinuousClock.now

    var links: Links { site.links }
    var view: PayloadView { site.options.view }

    /// The board of the page.
    ///
    /// - Throws: `PageFailure` if Redis has not answered yet.
    func board() throws(PageFailure) -> Board {
        guard let board = reading.board else {
            throw .unavailable(reading.failure ?? "no data has been read yet")
        }
        return board
    }

    /// Whether the visitor may do this here.
    func may(_ permission: Permission) -> Bool { !site.options.isReadOnly && visitor.role.has(permission) }
}

/// The colours of the pages.
enum Theme: String, Sendable, CaseIterable {
    /// As the system says.
    case system
    case light, dark

    static let cookie = "sluice-theme"

    /// The next theme of the toggle.
    var next: Theme {
        switch self {
        case .system: .dark
        case .dark: .light
        case .light: .system
        }
    }
}
