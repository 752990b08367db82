import Operations

/// The arguments of a supervisor's children: the supervisor's arguments without those for itself.
enum ChildArguments {
    private static let own = ["--processes", "--health"]

    static func make(from arguments: [String], worker: WorkerID, health: String?) -> [String] {
        var rest: [String] = []
        var words = arguments[...]
        while let word = words.popFirst() {
            if own.contains(word) {
                _ = words.popFirst()
            } else if !own.contains(where: { word.hasPrefix($0 + "=") }) {
                rest.append(word)
            }
        }
        return rest + ["--supervised", worker.description] + (health.map { ["--health", $0] } ?? [])
    }
}
