import Operations

/// One measured value, its reference, and its bounds.
struct Measurement: Sendable {
    enum Group: String, Sendable, CaseIterable {
        case floor, enqueue, drain, typed, latency, memory, idle, growth, network, durable, flow
    }

    enum Unit: String, Sendable {
        case perSecond = "1/s"
        case milliseconds = "ms"
        case microseconds = "µs"
        case bytes = "B"
        case mebibytes = "MiB"
        case percent = "%"
        case count = ""
    }

    /// A bound on the value itself or on its ratio to the reference.
    enum Bound: Sendable {
        case atMost(Double)
        /// Operations per second, reduced in proportion on a slower machine.
        case rateAtLeast(Double)
        case ratioAtLeast(Double)
        case ratioAtMost(Double)
    }

    /// A value of the same run on the same machine, because only ratios can be compared between machines.
    struct Reference: Sendable {
        var name: String
        var value: Double
    }

    var group: Group
    /// The measured case, without the numbers that vary within a series.
    var name: String
    /// The numbers that vary: slots, processes, pending, percentile …
    var parameters: [(name: String, value: Double)]
    var value: Double
    var unit: Unit
    var reference: Reference?
    var bounds: [Bound]
    /// The speed of this machine: 1 = at least as fast as the machine on which the budgets were set.
    var speed = 1.0

    init(
        _ group: Group,
        _ name: String,
        at parameters: [(name: String, value: Double)] = [],
        _ value: Double,
        _ unit: Unit,
        reference: Reference? = nil,
        bounds: [Bound] = []
    ) {
        self.group = group
        self.name = name
        self.parameters = parameters
        self.value = value
        self.unit = unit
        self.reference = reference ?? bounds.lazy.compactMap(Self.limit).first
        self.bounds = bounds
    }

    /// The reference of a measurement that has no other one: its bound.
    private static func limit(_ bound: Bound) -> Reference? {
        guard case .atMost(let limit) = bound, limit > 0 else { return nil }
        return Reference(name: "its budget", value: limit)
    }

    var ratio: Double? { reference.map { value / $0.value } }

    /// Whether every bound holds; nil = no bounds.
    var isMet: Bool? {
        bounds.isEmpty ? nil : bounds.allSatisfy(isMet)
    }

    func isMet(_ bound: Bound) -> Bool {
        switch bound {
        case .atMost(let limit): value <= limit
        case .rateAtLeast(let limit): value >= limit * speed
        case .ratioAtLeast(let limit): ratio.map { $0 >= limit } ?? false
        case .ratioAtMost(let limit): ratio.map { $0 <= limit } ?? false
        }
    }
}

// MARK: - For programs

extension Measurement {
    /// The measurement in the format of `docs/schema/measurement.json`.
    var json: JSONValue {
        var fields: [(String, JSONValue)] = [
            ("v", 1), ("group", .string(group.rawValue)), ("name", .string(name)),
            ("parameters", .object(JSONObject(parameters.map { ($0.name, Self.rounded($0.value)) }))),
            ("value", Self.rounded(value)), ("unit", .string(unit.rawValue)),
        ]
        if let reference, let ratio {
            fields += [
                ("reference", ["name": .string(reference.name), "value": Self.rounded(reference.value)]),
                ("ratio", Self.rounded(ratio)),
            ]
        }
        if let isMet {
            fields += [("budgets", .array(budgets.map { .string($0) })), ("met", .bool(isMet))]
        }
        return .object(JSONObject(fields))
    }

    /// Rounds to four digits, more than the precision of any measurement.
    private static func rounded(_ value: Double) -> JSONValue {
        guard value != 0, value.isFinite else { return 0 }
        var scale = 1.0
        var rest = abs(value)
        while rest < 1000, scale < 1e9 { (rest, scale) = (rest * 10, scale * 10) }
        return JSONNumber((value * scale).rounded() / scale).map { .number($0) } ?? 0
    }
}

extension Measurement {
    /// The bounds, formatted for people.
    var budgets: [String] { bounds.map(text) }

    private func text(_ bound: Bound) -> String {
        switch bound {
        case .atMost(let limit): "≤ \(FigureText.number(limit))"
        case .rateAtLeast(let limit):
            "≥ \(FigureText.number(limit))" + (speed == 1 ? "" : " (here \(FigureText.number(limit * speed)))")
        case .ratioAtLeast(let limit): "≥ \(FigureText.number(limit)) ×"
        case .ratioAtMost(let limit): "≤ \(FigureText.number(limit)) ×"
        }
    }
}
