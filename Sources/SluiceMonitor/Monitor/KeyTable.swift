/// An action of a key in the monitor.
package enum KeyAction: Sendable, Hashable, CaseIterable {
    case open, back, quit
    case up, down, pageUp, pageDown, first, last
    case overview, operations, queues, workers, events, nextScreen
    case nextState, previousState
    case search, searchNext, searchPrevious, filter, onlyChanges, sort, reverse, mark, markAll, unmark
    case cancel, retry, remove, pauseQueue, quietWorker, stopWorker
    case info, attempts, logs, graph, timeline, raw, followLog, copy
    case freeze, refresh, faster, slower, follow, wide, export, help
}

/// A place where a key works: a screen, or the detail screen over it.
package enum KeyPlace: Sendable, Hashable, CaseIterable {
    case overview, operations, queues, workers, events, detail
}

/// A row of the table of keys.
package struct KeyBinding: Sendable {
    /// The keys, as footer and help show them.
    package let label: String
    package let actions: [Key: KeyAction]
    /// The text in the footer; empty = the footer leaves the keys out.
    package let hint: String
    /// The text in the help.
    package let help: String
    package let places: Set<KeyPlace>
    /// Whether the keys change queues, operations or workers. `--read-only` removes such keys.
    package let changes: Bool
    /// The order in which a footer that is too long drops hints: the highest rank first.
    package let rank: Int

    init(
        _ label: String,
        _ actions: [Key: KeyAction],
        _ hint: String = "",
        help: String,
        in places: Set<KeyPlace> = Set(KeyPlace.allCases),
        changes: Bool = false,
        rank: Int = 1
    ) {
        self.label = label
        self.actions = actions
        self.hint = hint
        self.help = help
        self.places = places
        self.changes = changes
        self.rank = rank
    }
}

/// All keys of the monitor. Handling, footer and help read this table, so that they always agree.
package enum KeyTable {
    private static let lists = Set(KeyPlace.allCases).subtracting([.detail])

    /// The rows in the order of the footer and the help.
    package static let bindings: [KeyBinding] = [
        KeyBinding("Enter", [.enter: .open], "open", help: "open the selected row", in: lists.subtracting([.events])),
        KeyBinding("Esc", [.escape: .back, .left: .back], "back", help: "back to the list", in: [.detail]),
        KeyBinding(
            "j k",
            [.character("j"): .down, .down: .down, .character("k"): .up, .up: .up],
            "move",
            help: "down, up; also the arrows",
            rank: 9
        ),
        KeyBinding(
            "PgUp PgDn",
            [.pageDown: .pageDown, .pageUp: .pageUp],
            help: "ten up, ten down"
        ),
        KeyBinding(
            "g G",
            [.character("g"): .first, .home: .first, .character("G"): .last, .end: .last],
            help: "first, last; also Home, End",
            in: lists
        ),
        KeyBinding(
            "Home G",
            [.home: .first, .character("G"): .last, .end: .last],
            help: "first, last line; also End",
            in: [.detail]
        ),
        KeyBinding(
            "i a l t r",
            [
                .character("i"): .info, .character("a"): .attempts, .character("l"): .logs,
                .character("t"): .timeline, .character("r"): .raw,
            ],
            help: "the tabs of the operation",
            in: [.detail]
        ),
        KeyBinding("g", [.character("g"): .graph], help: "the tab of dependencies", in: [.detail]),
        KeyBinding(
            "f",
            [.character("f"): .followLog],
            "follow log",
            help: "follow the log, or stop",
            in: [.detail],
            rank: 6
        ),
        KeyBinding(
            "c",
            [.character("c"): .cancel],
            "cancel",
            help: "cancel; asks first",
            in: [.overview, .operations, .detail],
            changes: true
        ),
        KeyBinding(
            "R",
            [.character("R"): .retry],
            "retry",
            help: "run again; asks first",
            in: [.operations, .detail],
            changes: true,
            rank: 4
        ),
        KeyBinding(
            "d",
            [.character("d"): .remove],
            "delete",
            help: "delete; asks first",
            in: [.operations, .detail],
            changes: true,
            rank: 5
        ),
        KeyBinding(
            "space",
            [.character(" "): .mark],
            "mark",
            help: "mark for c, R and d",
            in: [.operations],
            changes: true,
            rank: 6
        ),
        KeyBinding(
            "* u",
            [.character("*"): .markAll, .character("u"): .unmark],
            help: "mark all that match; unmark",
            in: [.operations],
            changes: true
        ),
        KeyBinding(
            "/",
            [.character("/"): .filter],
            "filter",
            help: "filter, like sluice list",
            in: [.operations, .events],
            rank: 3
        ),
        KeyBinding(
            "c",
            [.character("c"): .onlyChanges],
            "changes only",
            help: "only changes by people, or all",
            in: [.events],
            rank: 4
        ),
        KeyBinding(
            "/",
            [.character("/"): .search],
            help: "search rows, or the log",
            in: [.overview, .queues, .workers, .detail]
        ),
        KeyBinding(
            "n N",
            [.character("n"): .searchNext, .character("N"): .searchPrevious],
            help: "next, previous found",
            in: [.overview, .queues, .workers, .detail]
        ),
        KeyBinding(
            "s S",
            [.character("s"): .sort, .character("S"): .reverse],
            "sort",
            help: "sort by another; reverse",
            in: [.operations],
            rank: 6
        ),
        KeyBinding(
            "Q",
            [.character("Q"): .quietWorker],
            "quiet",
            help: "quiet, resume; asks first",
            in: [.workers],
            changes: true
        ),
        KeyBinding(
            "T",
            [.character("T"): .stopWorker],
            "stop after drain",
            help: "drain and stop; asks first",
            in: [.workers],
            changes: true
        ),
        KeyBinding(
            "P",
            [.character("P"): .pauseQueue],
            "pause queue",
            help: "pause, resume; asks first",
            in: [.overview, .operations, .queues, .detail],
            changes: true
        ),
        KeyBinding(
            "1-5",
            [
                .character("1"): .overview, .character("2"): .operations, .character("3"): .queues,
                .character("4"): .workers, .character("5"): .events,
            ],
            help: "the screens",
            in: lists
        ),
        KeyBinding(
            "Tab",
            [.tab: .nextState, .backTab: .previousState],
            "next state",
            help: "next state; Shift-Tab back",
            in: [.operations],
            rank: 7
        ),
        KeyBinding("Tab", [.tab: .nextScreen], help: "next screen", in: lists.subtracting([.operations])),
        KeyBinding("p", [.character("p"): .freeze], "freeze", help: "freeze, and go on", rank: 8),
        KeyBinding("y", [.character("y"): .copy], help: "copy id or name (OSC 52)", in: lists),
        KeyBinding("y", [.character("y"): .copy], "copy id", help: "copy the id (OSC 52)", in: [.detail], rank: 7),
        KeyBinding("r", [.character("r"): .refresh], help: "read again now", in: lists),
        KeyBinding(
            "+ -",
            [.character("+"): .faster, .character("-"): .slower],
            help: "read more often, less often"
        ),
        KeyBinding("F", [.character("F"): .follow], help: "follow the row, or the line", in: lists),
        KeyBinding("w", [.character("w"): .wide], help: "whole ids", in: [.overview, .operations, .events]),
        KeyBinding("E", [.character("E"): .export], help: "save the view as JSON"),
        KeyBinding("?", [.character("?"): .help], "help", help: "this help", rank: 0),
        KeyBinding("q", [.character("q"): .quit], "quit", help: "quit; Ctrl-C everywhere", in: lists, rank: 0),
        KeyBinding("q", [.character("q"): .back], "back", help: "back; Ctrl-C quits", in: [.detail], rank: 0),
    ]

    /// Returns the rows of a place.
    package static func bindings(in place: KeyPlace, isReadOnly: Bool) -> [KeyBinding] {
        bindings.filter { $0.places.contains(place) && !(isReadOnly && $0.changes) }
    }

    /// Returns the action of a key in a place; nil = the key does nothing there.
    package static func action(_ key: Key, in place: KeyPlace, isReadOnly: Bool) -> KeyAction? {
        bindings(in: place, isReadOnly: isReadOnly).lazy.compactMap { $0.actions[key] }.first
    }
}
