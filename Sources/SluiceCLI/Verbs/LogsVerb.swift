import ArgumentParser
import Operations
import Sluice
import SluiceOperator

package struct LogsVerb: Verb {
    package static let formats: Set<OutputFormat> = .jsonAndCSV
    package static let effect = VerbEffect.reads

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

                On a terminal each line has its time; in a pipe only with -o wide.
                -o json prints an array, -o jsonl an object a line. -f takes -o jsonl only, because an array needs an end.
                """
        )
    }

    @Argument(help: "Id, last characters of an id, text of an --id, or QUEUE/ID.")
    var id: String
    @Flag(name: .shortAndLong, help: "Print new lines until the operation has ended.")
    var follow = false
    @Option(name: [.customShort("n"), .long], help: "Print only the n newest lines.")
    var lines: Int?
    @Option(help: "Print only the lines of this attempt.")
    var attempt: Int?
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package var formats: Set<OutputFormat> { follow ? [.jsonl] : Self.formats }

    package func check() throws {
        guard lines.map({ $0 >= 0 }) ?? true else { throw CLIError.usage("-n is negative", fix: "-n 100") }
        guard !follow || global.output != .json else {
            throw CLIError.usage("-f cannot print a JSON array, which needs an end", fix: "-f -o jsonl")
        }
        guard attempt.map({ $0 > 0 }) ?? true else { throw CLIError.usage("attempts begin at 1", fix: "--attempt 1") }
        guard attempt == nil || !follow else {
            throw CLIError.usage("-f and --attempt exclude each other", fix: "drop one of them")
        }
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let reference = try IDReference(parsing: id)
        let client = try await invocation.connectReadingClock()
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
    /// The line numbers of an attempt. Several ranges are possible, since an operator's retry starts the attempts
    /// again.
    func lines(of attempt: Int) -> [Range<Int>] {
        let ends = logStarts.dropFirst().map(\.line) + [Int.max]
        return zip(logStarts, ends).filter { $0.0.attempt == attempt }.map { $0.0.line..<$0.1 }
    }
}
