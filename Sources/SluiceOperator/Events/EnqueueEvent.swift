import Operations

extension QueueChange {
    /// Makes the event of an operation that a person enqueued by a form of the dashboard.
    ///
    /// - Parameters:
    ///   - name: the name of the new operation.
    ///   - origin: the operation that it repeats; nil = none.
    ///   - host: the host of the dashboard; empty = unknown.
    package init(enqueued name: String, rerunOf origin: OperationAddress?, by: String, from host: String) {
        let words = [
            name,
            origin.map { "rerun of \($0.queue)/\($0.id)" },
            host.isEmpty ? nil : "from the dashboard on \(host)",
        ]
        self.init(
            origin == nil ? .enqueue : .rerun,
            by: by,
            count: 1,
            detail: words.compactMap { $0 }.joined(separator: ", ")
        )
    }
}
