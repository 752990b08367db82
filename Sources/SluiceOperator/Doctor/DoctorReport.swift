import Operations
import TerminalText

/// The results of an examination: `docs/schema/doctor.json`.
package struct DoctorReport {
    package let chart: Chart
    /// Findings that were fixed.
    package let fixed: Chart
    package let coverage: Doctor.Coverage
    package let servers: [ServerAudit]
    package let namespace: String
    package let isDeep: Bool
    package let took: Duration

    package init(
        chart: Chart,
        fixed: Chart = Chart(),
        coverage: Doctor.Coverage,
        servers: [ServerAudit] = [],
        namespace: String,
        isDeep: Bool,
        took: Duration = .zero
    ) {
        self.chart = chart
        self.fixed = fixed
        self.coverage = coverage
        self.servers = servers
        self.namespace = namespace
        self.isDeep = isDeep
        self.took = took
    }

    package init(_ doctor: Doctor, namespace: String, isDeep: Bool, took: Duration) {
        self.init(
            chart: doctor.chart,
            fixed: doctor.fixed,
            coverage: doctor.coverage,
            servers: doctor.servers,
            namespace: namespace,
            isDeep: isDeep,
            took: took
        )
    }

    /// The findings, the most important one first.
    package var findings: RowReport<Diagnosis> { findings(of: chart) }

    private func findings(of chart: Chart) -> RowReport<Diagnosis> {
        RowReport(
            chart.sorted,
            [
                ReportColumn(
                    TableColumn("SEVERITY"),
                    csv: "SEVERITY",
                    field: "severity",
                    value: { .string($0.severity.rawValue) },
                    cell: { finding, _ in TableCell(finding.severity.rawValue, finding.severity.role) }
                ),
                .text("CODE", field: "code") { $0.code },
                .text("QUEUE", field: "queue") { $0.queue },
                .text("SUBJECT", field: "subject") { $0.subject },
                .text("MESSAGE", field: "message") { $0.message },
                .text("FIX", field: "fix") { $0.fix },
                .data("repair") { JSONValue($0.repair) },
            ]
        )
    }
}

extension Diagnosis.Severity {
    package var role: TextRole {
        switch self {
        case .error: .dead
        case .warning: .warning
        case .note: .dim
        }
    }
}

// MARK: - JSON

extension DoctorReport {
    package var json: JSONValue {
        [
            "v": 1,
            "namespace": .string(namespace),
            "deep": .bool(isDeep),
            "errors": .number(chart.count(.error)),
            "warnings": .number(chart.count(.warning)),
            "notes": .number(chart.count(.note)),
            "findings": .array(findings(of: chart).json),
            "fixed": .array(findings(of: fixed).json),
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
}

extension ServerAudit {
    /// The number of keys in all databases, from `db0:keys=12,expires=3,…`.
    fileprivate var keyCount: Int {
        info.filter { $0.key.hasPrefix("db") }
            .compactMap { $0.value.firstMatch(of: /^keys=(\d+)/).flatMap { Int($0.1) } }
            .reduce(0, +)
    }
}
