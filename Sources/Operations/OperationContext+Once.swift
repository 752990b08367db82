import Foundation

extension OperationContext {
    /// Runs an effect once for the operation, across attempts and deliveries, and returns its result.
    ///
    /// ```swift
    /// let receipt = try await context.once("charge") { try await bank.charge(order) }
    /// ```
    ///
    /// The first call runs the body, stores the result under the run's fence, and then returns. Later calls with this
    /// label return the stored result and do not run the body: in this run, in a later attempt, or after a lost worker.
    /// A body that throws stores nothing, so the next call runs it again.
    ///
    /// If a worker is lost between the effect and the write, the body runs again. For an effect that must happen
    /// exactly once, pass it a key that it can recognise, such as `context.id`. A run that lost its lease stores
    /// nothing: `once` throws before the body, or after it if the lease was lost meanwhile.
    ///
    /// Results are stored as long as the operation, also across `sluice retry`. `sluice rerun` makes a new operation
    /// without them. `sluice show` lists the labels. Like all results, they are stored as clear text, also for
    /// encrypted operations.
    ///
    /// - Parameters:
    ///   - label: a name for the effect, unique in the operation: 1 to 128 letters, digits, '.', '_' or '-'. An
    ///     operation has at most 64 labels.
    ///   - isolation: the actor on which the body runs, by default the caller's.
    ///   - body: the effect. Calls with one label wait for each other.
    /// - Returns: the value that the body returned, now or earlier. All labels and results of an operation have at most
    ///   64 KiB together, as JSON.
    /// - Throws: the error of the body; `OperationsError` with `.invalidName`, with `.refused` for an untracked
    ///   operation, with `.leaseLost`, and with `.tooLarge` for too many labels or bytes. After `.tooLarge` no other
    ///   attempt follows.
    public func once<Value: Codable & Sendable>(
        _ label: String,
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Value
    ) async throws -> Value {
        let results = try onceResults(for: label)
        await results.enter(label)
        defer { results.leave(label) }
        if let stored = try await results.stored(label) { return try Self.decode(stored) }
        // A run that does not own the operation must not begin an effect.
        _ = try fence
        let value = try await body()
        let json = Array(try JSONEncoder().encode(value))
        let kept = try await results.store(json, for: label)
        return kept == json ? value : try Self.decode(kept)
    }

    /// Runs an effect without a result once for the operation. See `once(_:isolation:_:)`.
    public func once(
        _ label: String,
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Void
    ) async throws {
        _ = try await once(label) { () async throws -> Bool in
            try await body()
            return true
        }
    }

    private static func decode<Value: Decodable>(_ json: [UInt8]) throws -> Value {
        try JSONDecoder().decode(Value.self, from: Data(json))
    }

    private func onceResults(for label: String) throws(OperationsError) -> OnceResults {
        try NameRule.check(label, role: "the label of once")
        guard let results = link.onceResults else {
            throw OperationsError(
                .refused,
                "once(\"\(label)\") needs a tracked operation, because its record stores the result: enqueue it without --no-track",
                id: id
            )
        }
        return results
    }
}

/// The results of `once` in a run; the first call reads those of earlier runs.
package final class OnceResults: Sendable {
    private struct State {
        /// Results by label; nil = not read yet.
        var stored: [String: [UInt8]]?
        /// The labels with a call in progress, each with the calls that wait for it.
        var waiting: [String: [CheckedContinuation<Void, Never>]] = [:]
    }

    /// The outcome of storing a result.
    package enum Stored: Sendable, Equatable {
        /// The result is stored.
        case stored
        /// The label has this stored result already.
        case replayed([UInt8])
        case tooManyLabels
        case tooManyBytes
        /// The fence is no longer valid.
        case stale
    }

    private let id: OperationID
    private let state = Guarded(State())
    private let read: @Sendable () async throws -> [String: [UInt8]]
    private let write: @Sendable (_ label: String, _ json: [UInt8]) async throws -> Stored

    package init(
        id: OperationID,
        read: @escaping @Sendable () async throws -> [String: [UInt8]],
        write: @escaping @Sendable (_ label: String, _ json: [UInt8]) async throws -> Stored
    ) {
        self.id = id
        self.read = read
        self.write = write
    }

    /// The number of bytes that a result counts towards `SluiceDefaults.onceBytes`.
    package static func byteCount(_ label: String, _ json: [UInt8]) -> Int { label.utf8.count + json.count }

    /// Judges whether one more result fits next to the others.
    package static func judge(_ label: String, _ json: [UInt8], beside others: [String: [UInt8]]) -> Stored {
        if let other = others[label] { return .replayed(other) }
        if others.count >= SluiceDefaults.onceLabels { return .tooManyLabels }
        let bytes = others.reduce(byteCount(label, json)) { $0 + byteCount($1.key, $1.value) }
        return bytes > SluiceDefaults.onceBytes ? .tooManyBytes : .stored
    }

    /// Waits until no other call with this label is in progress.
    func enter(_ label: String) async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.waiting[label] != nil else {
                    state.waiting[label] = []
                    return true
                }
                state.waiting[label]?.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    func leave(_ label: String) {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.waiting[label]?.isEmpty == false else {
                state.waiting[label] = nil
                return nil
            }
            return state.waiting[label]?.removeFirst()
        }
        next?.resume()
    }

    /// Returns the stored result of a label; throws if the label has no result and no room is left for one.
    func stored(_ label: String) async throws -> [UInt8]? {
        let all = try await all()
        if let found = all[label] { return found }
        // Refuse before the effect if no label or no byte is left. The size of the result is known only after the
        // effect.
        switch Self.judge(label, [], beside: all) {
        case .tooManyLabels, .tooManyBytes: throw tooLarge(label, .tooManyLabels)
        case .stored, .replayed, .stale: return nil
        }
    }

    private func all() async throws -> [String: [UInt8]] {
        if let known = state.withLock({ $0.stored }) { return known }
        let read = try await uncancelled(read)
        return state.withLock { state in
            let all = read.merging(state.stored ?? [:]) { $1 }
            state.stored = all
            return all
        }
    }

    /// Stores a result.
    ///
    /// - Returns: the stored result, which is an older one if the label had one.
    func store(_ json: [UInt8], for label: String) async throws -> [UInt8] {
        let outcome = try await uncancelled { [write] in try await write(label, json) }
        switch outcome {
        case .stored:
            state.withLock { $0.stored?[label] = json }
            return json
        case .replayed(let other):
            state.withLock { $0.stored?[label] = other }
            return other
        case .tooManyLabels, .tooManyBytes: throw tooLarge(label, outcome)
        case .stale:
            throw OperationsError(
                .leaseLost,
                "the result of once(\"\(label)\") is not stored: this run no longer owns operation \(id), so another "
                    + "run may repeat the effect",
                id: id
            )
        }
    }

    /// Runs in a task of its own: a cancel after the effect must not keep its result from being stored.
    private func uncancelled<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws
        -> Value
    {
        try await Task { try await body() }.value
    }

    private func tooLarge(_ label: String, _ outcome: Stored) -> OperationsError {
        let limit =
            outcome == .tooManyLabels
            ? "the operation already has \(SluiceDefaults.onceLabels) labels or \(SluiceDefaults.onceBytes) bytes, the limit"
            : "this result and the stored ones would have more than \(SluiceDefaults.onceBytes) bytes together"
        return OperationsError(
            .tooLarge,
            "once(\"\(label)\") cannot store its result: \(limit); return a short result, such as the address of a longer one",
            id: id
        )
    }
}
