extension ValueOperation {
    /// Makes one operation from several closures, as `BlockOperation` does with several blocks. The closures run
    /// concurrently on one slot.
    ///
    /// All closures run to their end, even if one throws. The operation's error is the first one in the order of the
    /// closures. A cancel reaches all closures.
    ///
    /// - Parameters:
    ///   - bodies: the closures.
    ///   - options: the options of the operation.
    /// - Returns: an operation whose value is the results, in the order of the closures.
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
