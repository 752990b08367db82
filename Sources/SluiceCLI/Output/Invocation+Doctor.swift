import Operations
import SluiceOperator
import TerminalText

extension Invocation {
    /// Prints the results of `doctor`.
    func print(_ report: DoctorReport) {
        let lines = DoctorLines(console.output)
        // A table has no rows if all is well.
        if format == .table || (format == .wide && report.chart.sorted.isEmpty) {
            console.print(lines.report(report))
        } else {
            let names = report.chart.sorted.map { SafeText.line($0.subject) }
            print(report.findings, names: names) { _ in report.json }
        }
        let fixable = report.chart.fixable
        if fixable > 0, format == .table {
            console.note("\(DoctorLines.counted(fixable, "finding")) can be fixed: \(Diagnosis.command)")
        }
    }
}

/// The findings of `doctor` as lines for people.
struct DoctorLines {
    let style: Style

    init(_ style: Style) { self.style = style }

    func report(_ report: DoctorReport) -> [String] {
        let fixed = report.fixed.sorted.map {
            style.paint("fixed:", .finished) + " " + text(of: $0) + ": " + ($0.repair ?? "")
        }
        return fixed + findings(report.chart) + [summary(report)]
    }

    func findings(_ chart: Chart) -> [String] {
        var lines: [String] = []
        for finding in chart.sorted {
            lines.append(style.paint("\(finding.severity.rawValue):", finding.severity.role) + " " + text(of: finding))
            if let repair = finding.repair {
                lines.append("  fix:  " + repair)
            } else if let fix = finding.fix {
                lines.append("  try:  " + SafeText.line(fix))
            }
        }
        for (kind, count) in chart.more {
            let queue = kind.queue.map { " in queue \($0)" } ?? ""
            lines.append("and \(QuantityText.grouped(count)) more of the kind \"\(kind.code)\"" + SafeText.line(queue))
        }
        return lines
    }

    /// `queue mail, 01JD…: its record says …`
    private func text(of finding: Diagnosis) -> String {
        let place = [finding.queue.map { "queue \($0)" }, finding.subject].compactMap { $0 }
        let shown = place.count == 2 && finding.queue == finding.subject ? [place[0]] : place
        return SafeText.line(shown.joined(separator: ", ") + ": " + finding.message)
    }

    private func summary(_ report: DoctorReport) -> String {
        let coverage = report.coverage
        let looked = [("queue", coverage.queues), ("key", coverage.keys), ("entry", coverage.entries)]
            .map { Self.counted($1, $0) }.joined(separator: ", ")
        let found = [Diagnosis.Severity.error, .warning, .note]
            .map { Self.counted(report.chart.count($0), $0.rawValue) }.joined(separator: ", ")
        return "\(found); looked at \(looked) in \(DurationText.precise(report.took))"
    }

    static func counted(_ count: Int, _ noun: String) -> String {
        let plural = noun == "entry" ? "entries" : noun + "s"
        return "\(QuantityText.grouped(count)) \(count == 1 ? noun : plural)"
    }
}
