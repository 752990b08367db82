import ArgumentParser
import Operations
import RedisBroker
import Sluice
import SluiceMonitor
import SluiceOperator
import TerminalText

package struct DoctorVerb: Verb {
    package static let formats: Set<OutputFormat> = .all
    package static let effect = VerbEffect.changes

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "doctor",
            abstract:
                "Find errors: lost or duplicated operations, wrong counters, leases, and Redis settings.",
            discussion: """
                EXAMPLES
                  \(Program.name) doctor
                  \(Program.name) doctor --deep --fix
                  \(Program.name) doctor --deep -o json | jq '.findings[] | select(.severity == "error")'

                Without --fix, doctor changes nothing. It may run at any time, also beside busy workers: it looks at \
                each finding three times. Without --deep it examines at most 25,000 keys and 5,000 entries of each \
                place. With --fix it asks first, and each fix checks its finding again in the same step. Exit status: \
                0, or 1 if there is an error (with --strict also for a warning); with --fix, 1 if an error is left.
                """
        )
    }

    @Flag(help: "Examine all keys and entries.")
    var deep = false
    @Flag(help: "Exit with 1 for warnings as well.")
    var strict = false
    @Flag(help: "Fix errors in queues: restore lost operations, remove duplicates, correct counters.")
    var fix = false
    @OptionGroup var consent: Consent
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func validate() throws {
        guard fix || !(global.yes || consent.dryRun) else {
            throw ValidationError("--yes and --dry-run are for --fix: without it, doctor changes nothing")
        }
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        do { return try await examine(invocation) } catch let error as OperationsError where error.code == .incompatible
        {
            var chart = Chart()
            chart.add(Self.incompatible(error, namespace: invocation.settings.namespace.content))
            DoctorReport(
                chart: chart,
                fixed: Chart(),
                coverage: Doctor.Coverage(isComplete: false),
                servers: [],
                namespace: invocation.settings.namespace.content,
                isDeep: deep,
                took: .zero
            ).print(invocation)
            return .dead
        }
    }

    private func examine(_ invocation: Invocation) async throws -> ExitStatus {
        if fix, !consent.dryRun { try invocation.beginChange(asking: nil) }
        let client = try await invocation.connect()
        guard let broker = client.broker as? any Doctor.Broker else {
            throw CLIError(.bug, "this broker does not support doctor")
        }
        let start = ContinuousClock.now
        let console = invocation.console
        var doctor = Doctor(broker, budget: deep ? .deep : .short) { done in
            if ContinuousClock.now - start > .seconds(1) { console.showStatus("looking: \(done)") }
        }
        try await doctor.run()
        console.clearStatus()
        if fix, !consent.dryRun, doctor.chart.fixable > 0 {
            try confirm(doctor.chart, invocation)
            try await doctor.fix()
            console.clearStatus()
        }
        report(doctor, took: .now - start, invocation)
        let isWell = doctor.chart.count(.error) == 0 && (!strict || doctor.chart.count(.warning) == 0)
        return isWell ? .done : .dead
    }

    /// Shows the findings that would be fixed, and asks for confirmation.
    private func confirm(_ chart: Chart, _ invocation: Invocation) throws {
        if !invocation.options.assumesYes {
            DoctorReport.lines(of: chart, invocation.console.errors).forEach { invocation.console.note($0) }
        }
        let count = chart.fixable
        let findings = count == 1 ? "1 finding" : "\(QuantityText.grouped(count)) findings"
        try invocation.confirm("fix \(findings)?", count: count)
    }

    private func report(_ doctor: Doctor, took: Duration, _ invocation: Invocation) {
        DoctorReport(
            chart: doctor.chart,
            fixed: doctor.fixed,
            coverage: doctor.coverage,
            servers: doctor.servers,
            namespace: invocation.settings.namespace.content,
            isDeep: deep,
            took: took
        ).print(invocation)
    }

    /// The only finding for a namespace of another protocol, which cannot be examined further.
    private static func incompatible(_ error: OperationsError, namespace: String) -> Diagnosis {
        Diagnosis(
            .error,
            "protocol",
            "protocol",
            error.message,
            fix: "\(Program.name) doctor -N \(NamespaceProtocol.otherNamespace(than: namespace))"
        )
    }
}

/// The output of `doctor`: `docs/schema/doctor.json`.
struct DoctorReport {
    let chart: Chart
    let fixed: Chart
    let coverage: Doctor.Coverage
    let servers: [ServerAudit]
    let namespace: String
    let isDeep: Bool
    let took: Duration

    func print(_ invocation: Invocation) {
        let console = invocation.console
        switch invocation.format {
        case .json: console.print(json, .json)
        case .jsonl: console.print(chart.sorted.map { Self.object($0).serialized() })
        case .id: console.print(chart.sorted.map { SafeText.line($0.subject) })
        case .wide, .csv: console.print(table, invocation.format, showsHeader: invocation.options.showsHeader)
        case .table: console.print(lines(console.output))
        }
        if chart.fixable > 0, invocation.format == .table {
            console.note("\(Self.counted(chart.fixable, "finding")) can be fixed: \(Diagnosis.command)")
        }
    }

    // MARK: For people

    private func lines(_ style: Style) -> [String] {
        let fixed = fixed.sorted.map {
            style.paint("fixed:", .finished) + " " + Self.text(of: $0) + ": " + ($0.repair ?? "")
        }
        return fixed + Self.lines(of: chart, style) + [summary]
    }

    /// `queue mail, 01JD…: its record says …`
    private static func text(of diagnosis: Diagnosis) -> String {
        let place = [diagnosis.queue.map { "queue \($0)" }, diagnosis.subject].compactMap { $0 }
        let shown = place.count == 2 && diagnosis.queue == diagnosis.subject ? [place[0]] : place
        return SafeText.line(shown.joined(separator: ", ") + ": " + diagnosis.message)
    }

    static func lines(of chart: Chart, _ style: Style) -> [String] {
        var lines: [String] = []
        for diagnosis in chart.sorted {
            lines.append(
                style.paint("\(diagnosis.severity.rawValue):", diagnosis.severity.role) + " " + text(of: diagnosis)
            )
            if let repair = diagnosis.repair {
                lines.append("  fix:  " + repair)
            } else if let fix = diagnosis.fix {
                lines.append("  try:  " + SafeText.line(fix))
            }
        }
        for (kind, count) in chart.more {
            let queue = kind.queue.map { " in queue \($0)" } ?? ""
            lines.append("and \(QuantityText.grouped(count)) more of the kind \"\(kind.code)\"" + SafeText.line(queue))
        }
        return lines
    }

    private var summary: String {
        let looked = [("queue", coverage.queues), ("key", coverage.keys), ("entry", coverage.entries)]
            .map { Self.counted($1, $0) }.joined(separator: ", ")
        let found = [Diagnosis.Severity.error, .warning, .note]
            .map { Self.counted(chart.count($0), $0.rawValue) }.joined(separator: ", ")
        return "\(found); looked at \(looked) in \(DurationText.precise(took))"
    }

    private static func counted(_ count: Int, _ noun: String) -> String {
        let plural = noun == "entry" ? "entries" : noun + "s"
        return "\(QuantityText.grouped(count)) \(count == 1 ? noun : plural)"
    }

    private var table: Table {
        var table = Table(["SEVERITY", "CODE", "QUEUE", "SUBJECT", "MESSAGE", "FIX"].map { TableColumn($0) })
        for diagnosis in chart.sorted {
            table.append([
                TableCell(diagnosis.severity.rawValue, diagnosis.severity.role), TableCell(diagnosis.code),
                TableCell(diagnosis.queue ?? ""), TableCell(diagnosis.subject), TableCell(diagnosis.message),
                TableCell(diagnosis.fix ?? ""),
            ])
        }
        return table
    }

    // MARK: For programs

    private var json: JSONValue {
        [
            "v": 1,
            "namespace": .string(namespace),
            "deep": .bool(isDeep),
            "errors": .number(chart.count(.error)),
            "warnings": .number(chart.count(.warning)),
            "notes": .number(chart.count(.note)),
            "findings": .array(chart.sorted.map { Self.object($0) }),
            "fixed": .array(fixed.sorted.map { Self.object($0) }),
            "more": .array(
                chart.more.map {
                    ["code": .string($0.kind.code), "queue": JSONValue($0.kind.queue), "count": .number($0.count)]
                }
            ),
            "looked": [
                "queues": .number(coverage.queues), "keys": .number(coverage.keys),
                "entries": .number(coverage.entries), "complete": .bool(coverage.isComplete),
                "milliseconds": .number(took.wholeMilliseconds),
            ],
            "server": server,
        ]
    }

    /// Facts about the server. In a cluster, numbers are sums over all masters or the worst value; other facts are
    /// those of the first master.
    private var server: JSONValue {
        let first = servers.first
        return [
            "version": JSONValue(first?.info["valkey_version"] ?? first?.info["redis_version"]),
            "hiredis": .string(first?.hiredisVersion ?? ""),
            "user": JSONValue(first?.user),
            "keys": .number(servers.reduce(0) { $0 + $1.keyCount }),
            "connections": JSONValue(sum("connected_clients")),
            "usedBytes": JSONValue(sum("used_memory")),
            "appendOnly": .bool(!servers.isEmpty && servers.allSatisfy { $0.info["aof_enabled"] == "1" }),
            "maxmemoryPolicy": JSONValue(
                servers.compactMap { $0.info["maxmemory_policy"] }.max { $0 == "noeviction" && $1 != "noeviction" }
            ),
            "clockAheadMilliseconds": .number(servers.map(\.clockAhead).max { abs($0) < abs($1) } ?? 0),
            "masters": .array(servers.compactMap(\.name).map { .string($0) }),
        ]
    }

    private func sum(_ field: String) -> Int? {
        let numbers = servers.compactMap { $0.info[field].flatMap { Int($0) } }
        return numbers.isEmpty ? nil : numbers.reduce(0, +)
    }

    private static func object(_ diagnosis: Diagnosis) -> JSONValue {
        [
            "v": 1,
            "severity": .string(diagnosis.severity.rawValue),
            "code": .string(diagnosis.code),
            "queue": JSONValue(diagnosis.queue),
            "subject": .string(diagnosis.subject),
            "message": .string(diagnosis.message),
            "fix": JSONValue(diagnosis.fix),
            "repair": JSONValue(diagnosis.repair),
        ]
    }
}

extension ServerAudit {
    /// The number of keys in all databases, from `db0:keys=12,expires=3,…`.
    fileprivate var keyCount: Int {
        info.filter { $0.key.hasPrefix("db") }
            .compactMap { $0.value.firstMatch(of: /^keys=(\d+)/).flatMap { Int($0.1) } }
            .reduce(0, +)
    }
}

extension Diagnosis.Severity {
    fileprivate var role: TextRole {
        switch self {
        case .error: .dead
        case .warning: .warning
        case .note: .dim
        }
    }
}
