/// Values that were read from Redis for a page, kept for a short time: many pages and refreshes cost one read.
actor ReadCache {
    /// The most values to keep.
    private static let most = 32

    private struct Entry {
        var value: Task<any Sendable, any Error>
        var until: ContinuousClock.Instant
    }

    private var entries: [String: Entry] = [:]

    /// Returns the stored value, or the one that `read` returns. Callers that ask meanwhile wait for the same read.
    ///
    /// - Parameters:
    ///   - key: the text that stands for the value. Each key has values of one type.
    ///   - age: how old a value may be.
    func value<Value: Sendable>(
        _ key: String,
        age: Duration,
        _ read: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        if let entry = entries[key], ContinuousClock.now < entry.until,
            let value = try await entry.value.value as? Value
        {
            return value
        }
        makeRoom()
        let task = Task<any Sendable, any Error> { try await read() }
        entries[key] = Entry(value: task, until: .now + age)
        do { return try await task.value as! Value } catch {
            if entries[key]?.value == task { entries[key] = nil }
            throw error
        }
    }

    private func makeRoom() {
        let now = ContinuousClock.now
        entries = entries.filter { $0.value.until > now }
        while entries.count >= Self.most, let oldest = entries.min(by: { $0.value.until < $1.value.until }) {
            entries[oldest.key] = nil
        }
    }
}
