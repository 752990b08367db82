import ArgumentParser
import Dispatch
import EmbeddedRedis
import Foundation
import Operations
import Selectors
import SluiceCLI
import SluiceOperator
import Synchronization

struct BenchVerb: Verb {
    static let formats: Set<OutputFormat> = .jsonAndCSV
    static let effect = VerbEffect.adds

    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: Program.name,
            abstract: "Measure what this machine, its Redis and Sluice can do.",
            discussion: """
                EXAMPLES
                  \(Program.name)
                  \(Program.name) --short --only enqueue,drain
                  \(Program.name) --json > figures.jsonl

                It starts a redis-server and workers of its own, which end with it; no other Redis is touched. First it measures what the
                machine can do without a queue, then Sluice, and holds one against the other. Only ratios of one run can be compared with
                those of another machine: if its bare scripts are slower than those of the machine for which the budgets were set, budgets in
                operations a second are in proportion, those of drains to the floor next to them. Whatever else runs here makes the figures worse.
                Groups: \(Measurement.Group.allCases.map(\.rawValue).joined(separator: ", ")).
                """,
            version: "sluice \(Program.version)"
        )
    }

    @Option(help: ArgumentHelp("Measure only these groups.", valueName: "groups"))
    var only: String?
    @Flag(help: "Less of everything: a minute or two.")
    var short = false
    @Flag(help: "More of everything: up to 5,000,000 operations pending.")
    var full = false
    @Flag(help: "One JSON object a line for each figure (as -o jsonl).")
    var json = false
    /// Overrides for tests of the command itself.
    @Option(help: .hidden)
    var operations: Int?
    @Option(help: .hidden)
    var samples: Int?
    @OptionGroup var global: GlobalOptions

    init() {}

    func check() throws {
        _ = try groups()
        guard !(short && full) else { throw CLIError.usage("--short and --full exclude each other", fix: "drop one") }
        guard global.redis == nil else {
            throw CLIError.usage("\(Program.name) has a Redis of its own and touches no other", fix: "without --redis")
        }
        for (name, value) in [("operations", operations), ("samples", samples)] where (value ?? 1) < 1 {
            throw CLIError.usage("--\(name) \(value ?? 0) measures nothing", fix: "at least 1")
        }
    }

    private static func startRig() async throws -> BenchRig {
        do { return try await BenchRig.start() } catch let error as EmbeddedRedisError {
            let fix = "install redis-server, or set SLUICE_REDIS_SERVER to its path"
            throw CLIError(.unreachable, error.message, fix: fix)
        }
    }

    func perform(_ invocation: Invocation) async throws -> ExitStatus {
        #if DEBUG
            invocation.console.warn("this is a debug build: the figures say nothing (swift build -c release)")
        #endif
        let closing = ClosingSignals()
        let rig = try await Self.startRig()
        closing.attach(rig.close)
        defer {
            withExtendedLifetime(closing) {}
            rig.close()
        }
        let report = BenchReport(invocation, asLines: json)
        let bench = Bench(
            rig: rig,
            size: size,
            sink: { report.add($0) },
            progress: { invocation.console.showStatus($0) }
        )
        do { try await bench.run(try groups()) } catch {
            // A signal closes the rig, and the cases then fail. Such a failure is no error of its own.
            guard let status = closing.status else { throw error }
            return status
        }
        invocation.console.clearStatus()
        report.end()
        return .done
    }

    private var size: Bench.Size {
        var size: Bench.Size = short ? .short : full ? .full : .usual
        if let operations {
            (size.operations, size.most, size.endured, size.idleSeconds) = (operations, operations, operations, 1)
        }
        if let samples { size.samples = samples }
        return size
    }

    private func groups() throws(CLIError) -> Set<Measurement.Group> {
        guard let only else { return Set(Measurement.Group.allCases) }
        var groups: Set<Measurement.Group> = []
        for word in only.split(separator: ",").map(String.init) {
            guard let group = Measurement.Group(rawValue: word) else {
                let known = Measurement.Group.allCases.map(\.rawValue)
                let near = Suggestion.nearest(to: word, among: known).map { "; did you mean \"\($0)\"?" } ?? ""
                throw .usage(
                    "--only \(OperationsError.quoted(word)) is not a group\(near)",
                    fix: "--only " + known.joined(separator: ",")
                )
            }
            groups.insert(group)
        }
        guard !groups.isEmpty else { throw .usage("--only needs a group", fix: "--only drain") }
        return groups
    }
}

/// Closes the rig on the signals that end a program, whenever a signal arrives.
private final class ClosingSignals: Sendable {
    private struct State {
        var close: (@Sendable () -> Void)?
        var arrived: ExitStatus?
    }

    private let state = Mutex(State())

    init() {
        for number in EndingSignals.all where !EndingSignals.ignoredAtStart.contains(number) {
            let status: ExitStatus = number == SIGINT ? .interrupted : .terminated
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global(qos: .userInteractive))
            // The closure keeps the source alive until the process ends.
            source.setEventHandler { [self] in withExtendedLifetime(source) { end(status) } }
            source.resume()
        }
    }

    /// The status to end with, once a signal has arrived.
    var status: ExitStatus? { state.withLock { $0.arrived } }

    /// Sets the closure that ends everything. Calls it at once if a signal has already arrived.
    func attach(_ close: @escaping @Sendable () -> Void) {
        let arrived = state.withLock { state in
            state.close = close
            return state.arrived
        }
        if let arrived { end(arrived) }
    }

    private func end(_ status: ExitStatus) {
        let close = state.withLock { state in
            state.arrived = status
            return state.close
        }
        guard let close else { return }
        close()
        Foundation.exit(status.rawValue)
    }
}
