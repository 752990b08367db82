extension ValueOperation {
    /// Several closures as one operation: they run concurrently on its one slot, and it ends when the last of them has. What
    /// `BlockOperation` does with several blocks.
    ///
    /// All of them run to their end, also when one throws; then the first error in their order is the operation's. A cancel reaches all.
    ///
    /// - Parameters:
    ///   - bodies: the closures.
    ///   - options: how it is to be run.
    /// - Returns: an operation whose value is their results, in their order.
    public static func concurrent<Element: Sendable>(
        _ bodies: [@Sendable () async throws -> Element],
        options: LocalOperationOptions = LocalOperationOptions()
    ) -> ValueOperation<[Element]> where Output == [Element] {
        ValueOperation<[Element]>(options) { try await results(of: bodies) }
    }
}

func results<Element: Sendable>(of bodies: [@Sendable () async throws -> Element]) async throws -> [Element] {
    let results = await withTaskGroup(of: (Int, Result<Element, any Error>).self) { group in
        for (index, body) in bodies.enumerated() {
            group.addTask {
                do { return (index, .success(try await body())) } catch { return (index, .failure(error)) }
            }
        }
        var byIndex: [Int: Result<Element, any Error>] = [:]
        for await (index, result) in group { byIndex[index] = result }
        return byIndex.sorted { $0.key < $1.key }.map(\.value)
    }
    return try results.map { try $0.get() }
}
