import Operations

/// One measured figure, what it is held against, and what it should be.
package struct Measurement: Sendable {
    package enum Group: String, Sendable, CaseIterable {
        case floor, enqueue, drain, typed, latency, memory, idle, growth, network, durable, flow
    }

    package enum Unit: String, Sendable {
        case perSecond = "1/s"
        case milliseconds = "ms"
        case microseconds = "µs"
        case bytes = "B"
        case mebibytes = "MiB"
        case percent = "%"
        case count = ""
    }

    /// A bound on the figure itself or on its ratio to the reference.
    package enum Bound: Sendable {
        case atMost(Double)
        /// Operations a second; on a slower machine in proportion.
        case rateAtLeast(Double)
        case ratioAtLeast(Double)
        case ratioAtMost(Double)
    }

    /// A figure of the same run on the same machine: only ratios can be compared between machines.
    package struct Reference: Sendable {
        package var name: String
        package var value: Double
    }

    package var group: Group
    /// What was done, without the numbers that vary within a series.
    package var name: String
    /// The numbers that vary: slots, processes, pending, percentile …
    package var parameters: [(name: String, value: Double)]
    package var value: Double
    package var unit: Unit
    package var reference: Reference?
    package var bounds: [Bound]
    /// How fast this machine is: 1 = as the one for which the budgets were set, or faster.
    package var speed = 1.0

    package init(
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

    /// What is held against nothing else is held against its bound.
    private static func limit(_ bound: Bound) -> Reference? {
        guard case .atMost(let limit) = bound, limit > 0 else { return nil }
        return Reference(name: "its budget", value: limit)
    }

    package var ratio: Double? { reference.map { value / $0.value } }

    /// Whether every bound holds; nil if there is none.
    package var isMet: Bool? {
        bounds.isEmpty ? nil : bounds.allSatisfy(isMet)
    }

    package func isMet(_ bound: Bound) -> Bool {
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
    /// As `docs/schema/measurement.json` says.
    package var json: JSONValue {
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

    /// Four digits are more than any of this is exact to.
    private static func rounded(_ value: Double) -> JSONValue {
        guard value != 0, value.isFinite else { return 0 }
        var scale = 1.0
        var rest = abs(value)
        while rest < 1000, scale < 1e9 { (rest, scale) = (rest * 10, scale * 10) }
        return JSONNumber((value * scale).rounded() / scale).map { .number($0) } ?? 0
    }
}

extension Measurement {
    /// The bounds as people read them.
    package var budgets: [String] { bounds.map(text) }

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
