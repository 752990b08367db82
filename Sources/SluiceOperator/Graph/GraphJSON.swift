import Operations
import TerminalText

extension OperationGraph {
    /// A dependent and its dependency.
    package struct Edge: Sendable {
        package let dependency: DependencyName
        package let dependent: DependencyName
        /// The dependency as its dependent stores it; nil if it was not read because there are many.
        package let need: OperationNeeds.Need?

        package var policy: NeedPolicy? { need?.policy }
    }

    /// The edges, in the order of the dependents.
    package var edges: [Edge] {
        order.flatMap { id -> [Edge] in
            guard let node = nodes[id] else { return [] }
            return node.needs.map { dependency in
                let need = node.detail.links.needs.first {
                    $0.dependency.id == dependency.id && ($0.dependency.queue ?? node.detail.queue) == dependency.queue
                }
                return Edge(dependency: dependency, dependent: id, need: need)
            }
        }
    }

    /// The object that `docs/schema/graph.json` describes.
    package func json(of subject: OperationDetail, _ estimate: GraphEstimate?) -> JSONValue {
        let path = criticalPath
        return [
            "v": 1,
            "id": .string(subject.id.description),
            "queue": .string(subject.queue),
            "time": OperationJSON.time(time),
            "operations": .array(order.compactMap { nodes[$0]?.json }),
            "edges": .array(edges.map(\.json)),
            "criticalPath": [
                "ids": .array(path.names.map { .string($0.id.description) }),
                "milliseconds": .number(Int(path.milliseconds)),
            ],
            "estimate": estimate?.json ?? .null,
            "isCutShort": .bool(isCutShort),
        ]
    }
}

extension GraphEstimate {
    fileprivate var json: JSONValue {
        ["endsInMilliseconds": ending.map { .number($0) } ?? .null, "text": .string(text)]
    }
}

extension OperationGraph.Node {
    fileprivate var json: JSONValue {
        [
            "id": .string(detail.id.description), "queue": .string(detail.queue),
            "name": .string(detail.envelope.name),
            "state": .string(detail.state.rawValue),
            "startedAt": OperationJSON.time(detail.record.startedAt),
            "endedAt": OperationJSON.time(detail.record.endedAt),
        ]
    }
}

extension OperationGraph.Edge {
    fileprivate var json: JSONValue {
        [
            "from": .string(dependency.id.description), "fromQueue": JSONValue(dependency.queue),
            "to": .string(dependent.id.description), "toQueue": JSONValue(dependent.queue),
            "onFailure": policy == .member ? .null : JSONValue(policy?.shown.rawValue),
        ]
    }
}
