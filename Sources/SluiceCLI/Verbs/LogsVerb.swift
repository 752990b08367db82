import ArgumentParser
import Operations
import Sluice

package struct LogsVerb: Verb {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "logs",
            abstract: "Print the log of an operation.",
            discussion: """
                EXAMPLES
                  \(Program.name) logs 7QK2MX
                  \(Program.name) logs 7QK2MX -f
                  \(Program.name) logs 7QK2MX --attempt 2
                  \(Program.name) logs 7QK2MX -o json

                A terminal gets the time before each line; a pipe gets the lines alone, with -o wide also their times.
                -o json prints an array, -o jsonl an object a line; -f has no end to close an array at, and takes -o jsonl.
                """
        )
    }

    @Argument(help: "Id, end of an id, text of an --id, or QUEUE/ID.")
    var id: String
    @Flag(name: .shortAndLong, help: "Go on until the operation ended.")
    var follow = false
    @Option(name: [.customShort("n"), .long], help: "Only the newest lines.")
    var lines: Int?
    @Option(help: "Only the lines of this attempt.")
    var attempt: Int?
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func check() throws {
        guard lines.map({ $0 >= 0 }) ?? true else { throw CLIError.usage("-n is negative", fix: "-n 100") }
        guard !follow || global.output != .json else {
            throw CLIError.usage("-f prints lines as they come, and an array has an end", fix: "-f -o jsonl")
        }
        guard attempt.map({ $0 > 0 }) ?? true else { throw CLIError.usage("attempts begin at 1", fix: "--attempt 1") }
        guard attempt == nil || !follow else {
            throw CLIError.usage("-f follows what is written now, --attempt shows what was", fix: "drop one of them")
        }
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let reference = try IDReference(parsing: id)
        let client = try await invocation.connect()
        let detail = try await Locator(client).details([reference])[0]
        let location = Location(queue: detail.queue, id: detail.id)
        let log = LogFollower(client, invocation)
        if let attempt {
            let ranges = detail.lines(of: attempt)
            guard !ranges.isEmpty else {
                let known = Set(detail.logStarts.map(\.attempt)).sorted().map { "\($0)" }.joined(separator: ", ")
                throw CLIError(
                    .notFound,
                    "attempt \(attempt) of \(detail.id) has written no lines"
                        + (known.isEmpty ? "" : "; these have: \(known)"),
                    fix: "\(Program.name) logs \(detail.id)"
                )
            }
            try await log.printAll(location, ranges, last: lines)
            return .done
        }
        if follow { try await log.follow(location, last: lines) } else { try await log.printAll(location, last: lines) }
        return .done
    }
}

extension OperationDetail {
    /// The numbers of an attempt's log lines; several ranges if an operator let it begin anew.
    func lines(of attempt: Int) -> [Range<Int>] {
        let ends = logStarts.dropFirst().map(\.line) + [Int.max]
        return zip(logStarts, ends).filter { $0.0.attempt == attempt }.map { $0.0.line..<$0.1 }
    }
}
