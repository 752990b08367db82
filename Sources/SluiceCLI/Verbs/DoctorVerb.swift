import ArgumentParser
import Operations
import RedisBroker
import Sluice
import SluiceMonitor
import TerminalText

package struct DoctorVerb: Verb {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "doctor",
            abstract:
                "Find errors: lost or doubled operations, wrong counters, leases, settings of Redis.",
            discussion: """
                EXAMPLES
                  \(Program.name) doctor
                  \(Program.name) doctor --deep -o json | jq '.findings[] | select(.severity == "error")'

                doctor changes nothing and may run at any time. Without --deep it examines at most 25,000 keys and 5,000 entries of each place. Exit status: 0, or 1 if there is an error (with --strict also for a warning).
                """
        )
    }

    @Flag(help: "Examine all keys and entries.")
    var deep = false
    @Flag(help: "Exit with 1 for warnings as well.")
    var strict = false
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        do { return try await examine(invocation) } catch let error as OperationsError where error.code == .incompatible
        {
            var chart = Chart()
            chart.add(Self.incompatible(error, namespace: invocation.settings.namespace.content))
            report(chart, Doctor.Coverage(isComplete: false), [], took: .zero, invocation)
            return .dead
        }
    }

    private func examine(_ invocation: Invocation) async throws -> ExitStatus {
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
        report(doctor.chart, doctor.coverage, doctor.servers, took: .now - start, invocation)
        let isWell = doctor.chart.count(.error) == 0 && (!strict || doctor.chart.count(.warning) == 0)
        return isWell ? .done : .dead
    }

    private func report(
        _ chart: Chart,
        _ coverage: Doctor.Coverage,
        _ servers: [ServerAudit],
        took: Duration,
        _ invocation: Invocation
    ) {
        DoctorReport(
            chart: chart,
            coverage: coverage,
            servers: servers,
            namespace: invocation.settings.namespace.content,
            isDeep: deep,
            took: took
        ).print(invocation)
    }

    /// Nothing else can be looked at then.
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
    }

    // MARK: For people

    private func lines(_ style: Style) -> [String] {
        var lines: [String] = []
        for diagnosis in chart.sorted {
            let place = [diagnosis.queue.map { "queue \($0)" }, diagnosis.subject].compactMap { $0 }
            let shown = place.count == 2 && diagnosis.queue == diagnosis.subject ? [place[0]] : place
            lines.append(
                style.paint("\(diagnosis.severity.rawValue):", diagnosis.severity.role)
                    + " " + SafeText.line(shown.joined(separator: ", ") + ": " + diagnosis.message)
            )
            if let fix = diagnosis.fix { lines.append("  try:  " + SafeText.line(fix)) }
        }
        for (kind, count) in chart.more {
            let queue = kind.queue.map { " in queue \($0)" } ?? ""
            lines.append("and \(QuantityText.grouped(count)) more of the kind \"\(kind.code)\"" + SafeText.line(queue))
        }
        return lines + [summary]
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

    /// Facts about the server. For a cluster: the sum or the worst of all masters; other facts in the order of their slots.
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
