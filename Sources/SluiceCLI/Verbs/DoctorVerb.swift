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
            let report = DoctorReport(
                chart: chart,
                coverage: Doctor.Coverage(isComplete: false),
                namespace: invocation.settings.namespace.content,
                isDeep: deep
            )
            invocation.print(report)
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
        let namespace = invocation.settings.namespace.content
        invocation.print(DoctorReport(doctor, namespace: namespace, isDeep: deep, took: .now - start))
        let isWell = doctor.chart.count(.error) == 0 && (!strict || doctor.chart.count(.warning) == 0)
        return isWell ? .done : .dead
    }

    /// Shows the findings that would be fixed, and asks for confirmation.
    private func confirm(_ chart: Chart, _ invocation: Invocation) throws {
        if !invocation.options.assumesYes {
            DoctorLines(invocation.console.errors).findings(chart).forEach { invocation.console.note($0) }
        }
        let count = chart.fixable
        let findings = count == 1 ? "1 finding" : "\(QuantityText.grouped(count)) findings"
        try invocation.confirm("fix \(findings)?", count: count)
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
