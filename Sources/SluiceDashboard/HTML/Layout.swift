import HTTPTypes
import SluiceOperator
import TerminalText

/// The content of a page, without the frame.
struct PageContent: Sendable {
    /// The title of the page, for the browser's tab.
    var title: String
    var place: NavigationPlace?
    /// The words of the command with the same view, after the name of the program; nil = there is none.
    var command: [String]?
    /// Whether a script may fetch the page again and replace its content.
    var isLive = true
    /// Whether replacing waits while the pointer is over a row.
    var holdsStill = false
    /// The address of what changes in a list, whose rows stay; nil = a script replaces the whole content.
    var rows: Link?
    /// When the data of the page was read; nil = with the board that all pages share.
    var readAt: ContinuousClock.Instant?
    var body: Markup

    init(
        _ title: String,
        _ place: NavigationPlace? = nil,
        command: [String]? = nil,
        isLive: Bool = true,
        holdsStill: Bool = false,
        @MarkupBuilder body: () -> Markup
    ) {
        (self.title, self.place, self.command) = (title, place, command)
        (self.isLive, self.holdsStill, self.body) = (isLive, holdsStill, body())
    }
}

/// The entries of the navigation.
enum NavigationPlace: String, Sendable, CaseIterable {
    case overview, operations, groups, queues, workers, schedules, performance, errors, events, doctor, about

    var title: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst() }

    var path: [String] {
        switch self {
        case .overview: []
        case .operations: ["ops"]
        default: [rawValue]
        }
    }
}

/// The frame of all pages: navigation, freshness of the data, and the command of the page.
struct Layout: Sendable {
    let site: Site
    let visitor: Visitor?
    let theme: Theme
    /// The link of the page, to come back to after a change of the theme.
    var link: Link?
    var reading: Reading?
    var now = ContinuousClock.now

    init(site: Site, visitor: Visitor?, theme: Theme) {
        (self.site, self.visitor, self.theme) = (site, visitor, theme)
    }

    init(_ visit: Visit) {
        self.init(site: visit.site, visitor: visit.visitor, theme: visit.theme)
        (link, reading) = (visit.link, visit.reading)
    }

    func document(_ page: PageContent) -> Markup {
        tag("html", .named("lang", "en"), .named("data-theme", theme.rawValue)) {
            head(page)
            tag("body") {
                tag("a", .class("skip"), .named("href", "#page"), text: "Skip to content")
                header(page)
                if reading != nil { Notice.outage }
                main(page)
                footer(page)
            }
        }
    }

    /// The part of the page that a script replaces.
    func main(_ page: PageContent) -> Markup {
        tag(
            "main",
            .id("page"),
            .named("data-live", page.isLive && reading != nil ? "yes" : "no"),
            .named("data-hold", page.holdsStill ? "yes" : "no"),
            .named("data-sequence", "\(reading?.sequence ?? 0)"),
            .named("data-age", age(page).map { "\($0.wholeMilliseconds)" } ?? ""),
            .named("data-failure", reading?.failure ?? ""),
            .named("data-title", title(page)),
            .url("data-icon", icon),
            .url("data-rows", page.rows ?? Links.none)
        ) {
            trouble
            page.body
        }
    }

    /// The age of the data; nil without data.
    private func age(_ page: PageContent) -> Duration? {
        (page.readAt ?? reading?.board?.readAt).map { max(.zero, now - $0) }
    }

    private var dead: Int { reading?.board?.count(.dead) ?? 0 }

    private var icon: Link { asset(dead > 0 ? .deadIcon : .icon) }

    private func title(_ page: PageContent) -> String {
        let mark = dead > 0 ? "(\(QuantityText.grouped(dead)) dead) " : ""
        return "\(mark)\(page.title) · \(site.options.namespace) · sluice"
    }

    private func head(_ page: PageContent) -> Markup {
        tag("head") {
            void("meta", .named("charset", "utf-8"))
            void("meta", .name("viewport"), .named("content", "width=device-width, initial-scale=1"))
            void("meta", .name("color-scheme"), .named("content", "light dark"))
            tag("title", text: title(page))
            void("link", .named("rel", "icon"), .href(icon))
            void("link", .named("rel", "stylesheet"), .href(asset(.style)))
            if reading != nil {
                tag(
                    "script",
                    .src(asset(.script)),
                    .flag("defer"),
                    .url("data-stream", site.links.to("live")),
                    .url("data-worker", asset(.stream))
                )
                tag("script", .src(asset(.keys)), .flag("defer"))
            }
        }
    }

    private func asset(_ asset: Asset) -> Link { site.links.to("assets", asset.name) }

    private func header(_ page: PageContent) -> Markup {
        tag("header", .class("top")) {
            tag("a", .class("brand"), .href(site.links.to())) {
                tag("b", text: "sluice")
                tag("span", .class("namespace"), text: site.options.namespace)
            }
            if visitor != nil {
                tag("nav", .named("aria-label", "Pages")) {
                    NavigationPlace.allCases.map { navigation($0, isCurrent: $0 == page.place) }
                }
            }
            tag("div", .class("tools")) {
                badge(page)
                themeToggle
            }
        }
    }

    private func navigation(_ place: NavigationPlace, isCurrent: Bool) -> Markup {
        let link = site.links.link(place.path, [])
        return isCurrent
            ? tag("a", .href(link), .named("aria-current", "page"), text: place.title)
            : tag("a", .href(link), text: place.title)
    }

    /// The freshness of the data. A script counts its age on; without a script, the badge says when it was read.
    @MarkupBuilder private func badge(_ page: PageContent) -> Markup {
        if let reading {
            let age = age(page).map { DurationText.precise($0) }
            let time = reading.board.flatMap { $0.time(at: page.readAt ?? $0.readAt) }.map {
                "\(TimeText.clock($0)) UTC"
            }
            let isStale = reading.failure != nil
            tag(
                "span",
                .class("badge " + (isStale ? "stale" : "read")),
                .id("badge"),
                .title(time.map { "Read at \($0)" } ?? "")
            ) {
                tag("span", .class("dot"), .named("aria-hidden", "true"))
                // The age is outside of the status, so that screen readers do not read it each second.
                tag("span", .id("badge-state"), .named("role", "status"), text: isStale ? "stale" : "read")
                tag("span", .id("badge-text")) {
                    isStale ? age.map { "data \($0) old" } ?? "no data" : time.map { "at \($0)" } ?? "no data"
                }
            }
            tag(
                "button",
                .named("type", "button"),
                .id("pause"),
                .class("quiet"),
                .flag("hidden"),
                .named("aria-pressed", "false"),
                .title("Stop all updates of this page"),
                text: "Pause"
            )
        }
    }

    private var themeToggle: Markup {
        tag("form", .named("method", "post"), .action(site.links.to("theme"))) {
            void("input", .named("type", "hidden"), .name("theme"), .value(theme.next.rawValue))
            void("input", .named("type", "hidden"), .name("back"), .value(link?.text ?? ""))
            tag(
                "button",
                .class("quiet"),
                .named("aria-label", "Colours: \(theme.rawValue); change to \(theme.next.rawValue)"),
                .title("Colours: \(theme.rawValue)"),
                text: theme == .dark ? "☾" : theme == .light ? "☀" : "◐"
            )
        }
    }

    /// The problems that concern every page.
    @MarkupBuilder private var trouble: Markup {
        if let failure = reading?.failure {
            Notice.markup(.bad, outage(failure))
        }
        for node in reading?.board?.snapshot.absent ?? [] { Notice.markup(.warning, node.sentence) }
        for refusal in reading?.board?.snapshot.refusals ?? [] {
            Notice.markup(.bad, "\(refusal.sentence); try: \(refusal.fix)")
        }
    }

    /// `Redis does not answer. This page shows 03:12:07 UTC, 4m31s ago. …`
    private func outage(_ failure: String) -> String {
        let shown = reading?.board.map { board in
            let time = board.snapshot.time.map { "\(TimeText.clock($0)) UTC, " } ?? ""
            return "This page shows Redis as of \(time)\(DurationText.short(now - board.readAt)) ago. "
        }
        return "Redis does not answer. \(shown ?? "Nothing was read yet. ")The dashboard tries again by itself. "
            + "Cause: \(failure)"
    }

    private func footer(_ page: PageContent) -> Markup {
        tag("footer") {
            if let words = page.command { CommandLineView(site).markup(words, label: "The same in a terminal") }
            if let visitor {
                tag("div", .class("dim")) {
                    "\(visitor.name), \(site.options.isReadOnly ? "read only" : visitor.role.rawValue)"
                    if !site.options.isOpen, !site.options.isMounted {
                        tag("form", .class("inline"), .named("method", "post"), .action(site.links.to("logout"))) {
                            tag("button", .class("link"), text: "Log out")
                        }
                    }
                }
            }
        }
    }
}
