import Operations
import RedisClient

extension RedisBroker {
    package func inputs(of id: OperationID, queue: String) async throws -> [DependencyInput] {
        var inputs: [OperationID: DependencyInput] = [:]
        var large: [OperationID] = []
        var cursor = "0"
        repeat {
            var arguments = arguments(queue)
            arguments.append(id)
            arguments.append(cursor)
            let reply = try await read(.inputs, arguments).array ?? []
            cursor = reply.first?.string ?? "0"
            for row in Array(reply.dropFirst()).chunks(of: 3).map(Array.init) {
                guard let (input, isLarge) = DependencyInput.read(row) else { continue }
                inputs[input.id] = input
                if isLarge { large.append(input.id) }
            }
        } while cursor != "0"
        for detail in try await details(large, queue: queue) {
            if let detail { inputs[detail.id]?.result = detail.result ?? [] }
        }
        return inputs.values.sorted { $0.id < $1.id }
    }
}

extension RedisBroker {
    package func edges(
        _ kind: DependencyEdges,
        of id: OperationID,
        limit: Int,
        queue: String
    ) async throws -> [OperationID] {
        // A scan may name one twice.
        var ids: Set<OperationID> = []
        var cursor = "0"
        repeat {
            var arguments = arguments(queue)
            arguments.append(id)
            arguments.append(kind.rawValue)
            arguments.append(cursor)
            let reply = try await read(.edges, arguments).array ?? []
            cursor = reply.first?.string ?? "0"
            ids.formUnion(reply.dropFirst().compactMap { $0.bytes.flatMap { OperationID(utf8: $0) } })
        } while cursor != "0" && ids.count < limit
        return Array(ids.sorted().prefix(limit))
    }
}

extension DependencyInput {
    /// Reads a row of `inputs.lua`; whether its result is large and not in it.
    fileprivate static func read(_ row: [RedisValue]) -> (DependencyInput, isLarge: Bool)? {
        guard row.count == 3, let id = row[0].bytes.flatMap({ OperationID(utf8: $0) }), let mark = row[2].bytes else {
            return nil
        }
        let state = row[1].bytes?.first.flatMap { OperationState(code: $0) }
        let result = mark.first == UInt8(ascii: "1") ? Array(mark.dropFirst()) : nil
        return (DependencyInput(id: id, state: state, result: result), mark.first == UInt8(ascii: "2"))
    }
}
