import Operations

/// A queue that a worker serves, with its share of the worker's slots.
public struct QueueShare: Sendable, Equatable {
    /// The name of the queue.
    public var name: String
    /// How often the worker chooses the queue when several queues have work, relative to the others: 1 to 1,000.
    public var weight: Int
    /// Slots that only this queue may use.
    public var reservedSlots: Int

    /// Creates a share. The worker checks it when it starts.
    ///
    /// - Parameters:
    ///   - name: the name of the queue.
    ///   - weight: how often the worker chooses the queue, relative to the others: 1 to 1,000.
    ///   - reservedSlots: slots that only this queue may use.
    public init(_ name: String, weight: Int = 1, reservedSlots: Int = 0) {
        self.name = name
        self.weight = weight
        self.reservedSlots = reservedSlots
    }
}

extension QueueShare: ExpressibleByStringLiteral {
    /// Creates a share of weight 1 without reserved slots.
    ///
    /// - Parameter name: the name of the queue.
    public init(stringLiteral name: String) { self.init(name) }
}

/// The queues of a worker: `["mail", "default"]`, `["mail", QueueShare("video", weight: 3)]`, or `.all`.
public enum QueueSelection: Sendable, Equatable {
    /// Exactly these queues.
    case named([QueueShare])
    /// Every queue of the namespace, including later ones; all have the same weight.
    case all

    /// Parses the form of the command line: `mail:3,default` (weights), `mail=8` (reserved slots), `mail:3=8` (both),
    /// `*` (all).
    ///
    /// - Parameter text: the queues, separated by commas.
    /// - Throws: `WorkerError` with `.invalidConfiguration`, or `OperationsError` with `.invalidName`.
    package init(parsing text: String) throws {
        if text == "*" {
            self = .all
            return
        }
        self = .named(try text.split(separator: ",", omittingEmptySubsequences: false).map(Self.share))
    }

    private static func share(_ text: Substring) throws -> QueueShare {
        let reserved = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let weighted = reserved[0].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        return QueueShare(
            try NameRule.check(String(weighted[0]), role: "queue"),
            weight: try weighted.count == 2 ? number(weighted[1], "weight", of: text) : 1,
            reservedSlots: try reserved.count == 2 ? number(reserved[1], "number of slots", of: text) : 0
        )
    }

    private static func number(_ digits: Substring, _ role: String, of text: Substring) throws -> Int {
        guard let value = Int(digits), (1...1000).contains(value) else {
            throw WorkerError(
                .invalidConfiguration,
                "queue \(OperationsError.quoted(String(text))): "
                    + "the \(role) is \(OperationsError.quoted(String(digits))): use 1 to 1000, as in mail:3=8"
            )
        }
        return value
    }
}

extension QueueSelection {
    /// Selects queues by name, with weight 1 and without reserved slots.
    ///
    /// - Parameter names: the names of the queues, each once.
    public init(_ names: [String]) { self = .named(names.map { QueueShare($0) }) }
}

extension QueueSelection: ExpressibleByArrayLiteral {
    /// Exactly these queues.
    ///
    /// - Parameter shares: the queues, each once.
    public init(arrayLiteral shares: QueueShare...) { self = .named(shares) }
}
