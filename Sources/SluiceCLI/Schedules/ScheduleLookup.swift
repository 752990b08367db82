import ArgumentParser
import Operations
import Selectors
import Sluice
import SluiceOperator

/// The arguments that name schedules by id.
package struct ScheduleTargets: ParsableArguments {
    @Argument(help: ArgumentHelp("Ids of schedules.", valueName: "schedule")) var ids: [String]
    @Option(name: .shortAndLong, help: "Look in this queue only.") var queue: String?

    package init() {}

    /// Finds the schedules with these ids, each in the one queue that has it.
    ///
    /// - Throws: `.notFound` with the nearest id; `.usage` for an id that is in several queues, with their names.
    func find(_ client: SluiceClient) async throws -> [OperationSchedule] {
        try await Self.find(ids, queue: queue, client)
    }

    static func find(_ ids: [String], queue: String?, _ client: SluiceClient) async throws -> [OperationSchedule] {
        for id in ids { try NameRule.check(id, role: "schedule") }
        if let queue { try await client.knownQueue(queue) }
        let all = try await client.schedules.all(queue: queue)
        return try ids.map { id throws(CLIError) in
            let found = all.filter { $0.id == id }
            guard let first = found.first else {
                let near = Suggestion.nearest(to: id, among: all.map(\.id)).map { "; did you mean \"\($0)\"?" } ?? ""
                throw CLIError(.notFound, "no schedule \"\(id)\"\(near)", fix: "\(Program.name) schedule ls")
            }
            guard found.count == 1 else {
                let queues = found.map(\.queue).joined(separator: ", ")
                throw CLIError.usage("schedule \"\(id)\" is in the queues \(queues)", fix: "-q \(first.queue)")
            }
            return first
        }
    }
}
