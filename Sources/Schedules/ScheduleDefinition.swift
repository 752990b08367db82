import Foundation
import Operations

/// A stored schedule: when it runs, and the operation that it enqueues. Encoded as one JSON object, which Redis does
/// not read.
package struct ScheduleDefinition: Sendable, Equatable {
    package var recurrence: Recurrence
    /// The instant from which equal intervals are counted, in milliseconds since 1970.
    package var anchor: Int64
    package var rules: ScheduleRules
    package var priority: OperationPriority
    package var expiresMilliseconds: Int64
    /// The operation, as `OperationEnvelope.encoded()` writes it.
    package var envelope: [UInt8]

    package init(
        recurrence: Recurrence,
        anchor: Int64,
        rules: ScheduleRules = ScheduleRules(),
        priority: OperationPriority = .normal,
        expiresMilliseconds: Int64 = 0,
        envelope: [UInt8]
    ) {
        self.recurrence = recurrence
        self.anchor = anchor
        self.rules = rules
        self.priority = priority
        self.expiresMilliseconds = expiresMilliseconds
        self.envelope = envelope
    }

    /// Checks the recurrence and the rules.
    ///
    /// - Throws: `.invalidOption` with the error and the expected value in its message.
    package func check() throws(OperationsError) {
        try recurrence.check()
        try TimeLimit.check(rules.jitter, "the jitter", least: .zero)
        if let start = rules.start, let end = rules.end, end < start {
            throw OperationsError(.invalidOption, "the schedule ends before it starts; expected an end after its start")
        }
    }
}

// MARK: - JSON

extension ScheduleDefinition {
    package func encoded() -> [UInt8] {
        var fields: [(String, JSONValue)] = []
        switch recurrence.form {
        case .every(let milliseconds):
            fields += [("every", .number(Int(milliseconds))), ("anchor", .number(Int(anchor)))]
        case .cron(let text, let zone): fields += [("cron", .string(text)), ("zone", .string(zone))]
        case .invalid: preconditionFailure("a schedule is checked before it is stored")
        }
        if rules.misfire != .latest { fields.append(("misfire", .string(rules.misfire.rawValue))) }
        if let policy = rules.ifExists { fields.append(("overlap", .string(policy.rawValue))) }
        if rules.jitter > .zero { fields.append(("jitter", .number(Int(rules.jitter.wholeMilliseconds)))) }
        if let start = rules.start { fields.append(("start", .number(Int(start.milliseconds)))) }
        if let end = rules.end { fields.append(("end", .number(Int(end.milliseconds)))) }
        if priority != .normal { fields.append(("priority", .string(priority.rawValue))) }
        if expiresMilliseconds > 0 { fields.append(("expires", .number(Int(expiresMilliseconds)))) }
        let head = JSONValue.object(JSONObject(fields)).serializedBytes()
        return head.dropLast() + Array(#","operation":"#.utf8) + envelope + [UInt8(ascii: "}")]
    }

    /// - Throws: `.malformed` if the bytes are no definition, `.invalidOption` if recurrence or rules are invalid.
    package init(_ bytes: [UInt8]) throws(OperationsError) {
        var fields = JSONFields(bytes)
        var (every, cron, zone): (Int64?, String?, String) = (nil, nil, "UTC")
        self.init(recurrence: .every(.zero), anchor: 0, envelope: [])
        while let (key, value) = try fields.next() {
            let json = try? JSONValue(parsing: Array(value))
            let number = (json?.intValue).map(Int64.init)
            switch key {
            case "every": every = number
            case "anchor": anchor = number ?? 0
            case "cron": cron = json?.stringValue
            case "zone": zone = json?.stringValue ?? zone
            case "misfire": rules.misfire = json?.stringValue.flatMap(ScheduleRules.Misfire.init) ?? .latest
            case "overlap": rules.ifExists = try Self.ifExists(json)
            case "jitter": rules.jitter = .milliseconds(number ?? 0)
            case "start": rules.start = number.map(Date.init(milliseconds:))
            case "end": rules.end = number.map(Date.init(milliseconds:))
            case "priority": priority = json?.stringValue.flatMap(OperationPriority.init) ?? .normal
            case "expires": expiresMilliseconds = number ?? 0
            case "operation": envelope = Array(value)
            default: break
            }
        }
        if let every {
            recurrence = .every(.milliseconds(every))
        } else if let cron {
            recurrence = .cron(cron, zone: zone)
        } else {
            throw OperationsError(.malformed, "a schedule has neither \"every\" nor \"cron\"")
        }
        guard !envelope.isEmpty else { throw OperationsError(.malformed, "a schedule has no \"operation\"") }
        try check()
    }

    /// Refuses an unknown policy. Ignoring it would let operations run side by side.
    private static func ifExists(_ json: JSONValue?) throws(OperationsError) -> ScheduleRules.IfExists {
        let word = json?.stringValue ?? ""
        guard let policy = ScheduleRules.IfExists(rawValue: word) else {
            throw OperationsError(.malformed, "a schedule has the unknown overlap \(OperationsError.quoted(word))")
        }
        return policy
    }
}

extension Date {
    /// Makes the date of a time in milliseconds since 1970.
    package init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }
    package var milliseconds: Int64 { Int64((timeIntervalSince1970 * 1000).rounded()) }
}
