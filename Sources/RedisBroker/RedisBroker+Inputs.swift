import Operations
import RedisClient

extension RedisBroker {
    package func inputs(of id: OperationID, queue: String) async throws -> [DependencyInput] {
        var inputs: [DependencyName: DependencyInput] = [:]
        var large: [DependencyName] = []
        var cursor = "0"
        repeat {
            var arguments = arguments(queue)
            arguments.append(id)
            arguments.append(cursor)
            let reply = try await read(.inputs, arguments).array ?? []
            cursor = reply.first?.string ?? "0"
            for row in Array(reply.dropFirst()).chunks(of: 3).map(Array.init) {
                guard let (input, isLarge) = DependencyInput.read(row) else { continue }
                inputs[input.name] = input
                if isLarge { large.append(input.name) }
            }
        } while cursor != "0"
        for (other, names) in Dictionary(grouping: large, by: \.queue) {
            for detail in try await details(names.map(\.id), queue: other ?? queue) {
                guard let detail, detail.state == .finished else { continue }
                inputs[DependencyName(detail.id, queue: other)]?.result = detail.result ?? []
            }
        }
        return inputs.values.sorted { $0.name < $1.name }
    }
}

extension RedisBroker {
    package func edges(
        _ kind: DependencyEdges,
        of id: OperationID,
        limit: Int,
        queue: String
    ) async throws -> [DependencyName] {
        var (names, others) = try await edges(kind, of: DependencyName(id), limit: limit, queue: queue)
        for other in others where names.count < limit {
            let name = DependencyName(id, queue: queue)
            let found = try await edges(kind, of: name, limit: limit - names.count, queue: other).names
            names.formUnion(found.map { DependencyName($0.id, queue: other) })
        }
        return Array(names.sorted().prefix(limit))
    }

    /// - Returns: the names that this queue has, and other queues that may have more.
    private func edges(
        _ kind: DependencyEdges,
        of name: DependencyName,
        limit: Int,
        queue: String
    ) async throws -> (names: Set<DependencyName>, others: [String]) {
        // A set, because a scan may return a name twice.
        var names: Set<DependencyName> = []
        var others: [String] = []
        var cursor = "0"
        repeat {
            var arguments = arguments(queue)
            arguments.append(name.description)
            arguments.append(kind.rawValue)
            arguments.append(cursor)
            let reply = try await read(.edges, arguments).array ?? []
            cursor = reply.first?.string ?? "0"
            for text in reply.dropFirst().compactMap(\.string) {
                if text.hasSuffix("/") {
                    others.append(String(text.dropLast()))
                } else if let name = DependencyName(text) {
                    names.insert(name)
                }
            }
        } while cursor != "0" && names.count < limit
        return (names, others)
    }
}

extension DependencyInput {
    /// Reads a row of `inputs.lua`. A large result is not in the row, and `isLarge` is true.
    fileprivate static func read(_ row: [RedisValue]) -> (DependencyInput, isLarge: Bool)? {
        guard row.count == 3, let name = row[0].string.flatMap({ DependencyName($0) }), let mark = row[2].bytes else {
            return nil
        }
        let state = row[1].bytes?.first.flatMap { OperationState(code: $0) }
        let result = mark.first == UInt8(ascii: "1") ? Array(mark.dropFirst()) : nil
        return (DependencyInput(name: name, state: state, result: result), mark.first == UInt8(ascii: "2"))
    }
}
