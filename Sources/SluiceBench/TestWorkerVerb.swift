import ArgumentParser
import SluiceCLI

/// `worker` with the operations of benchmarks and tests. The verb is hidden, because only these use it.
package struct TestWorkerVerb: Verb {
    package static let formats: Set<OutputFormat> = .json
    package static let effect = VerbEffect.adds

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "test-worker",
            abstract: "Run operations of queues, also those of benchmarks and tests.",
            shouldDisplay: false
        )
    }

    @OptionGroup var worker: WorkerVerb

    package init() {}

    package var global: GlobalOptions { worker.global }

    package func check() throws { try worker.check() }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        try await worker.perform(invocation.adding(BenchOperations.register))
    }
}
