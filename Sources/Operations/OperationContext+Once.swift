import Foundation

extension OperationContext {
    /// Runs an effect once for the operation, whatever the number of attempts and deliveries, and returns its result.
    ///
    /// ```swift
    /// let receipt = try await context.once("charge") { try await bank.charge(order) }
    /// ```
    ///
    /// The first call runs the body and stores what it returns under the run's fence; only then it returns. Later calls with this label, in
    /// this run, in a later attempt or after a lost worker, return the stored result and do not run the body. A body that throws stores
    /// nothing, so the next call runs it again.
    ///
    /// Between the effect and the write a worker may be lost: then the body runs again. So pass the effect a key that it can recognise, such as
    /// `context.id`, if it has to be exactly once. A run that lost its lease stores nothing: `once` throws before the body, or after it if the
    /// lease was lost meanwhile.
    ///
    /// Results are kept as long as the operation, also by `sluice retry`. `sluice rerun` makes a new operation without any. `sluice show` lists
    /// the labels. As all results, they are stored as clear text, also for encrypted operations.
    ///
    /// - Parameters:
    ///   - label: a name for the effect, unique in the operation: 1 to 128 letters, digits, '.', '_' or '-'. At most 64 in an operation.
    ///   - isolation: where the body runs: the actor of the caller.
    ///   - body: the effect. Calls with the same label wait for each other.
    /// - Returns: what the body returned, now or then. At most 64 KiB as JSON, all labels together.
    /// - Throws: what the body throws; `OperationsError` with `.invalidName`, with `.refused` for an untracked operation, with `.leaseLost`, and
    ///   with `.tooLarge` for too many labels or bytes, after which no other attempt follows.
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
                "once(\"\(label)\") needs a tracked operation, because results are kept in its record: enqueue it without --no-track",
                id: id
            )
        }
        return results
    }
}

/// The results of a run's `once`: those of earlier runs are read at the first call.
package final class OnceResults: Sendable {
    private struct State {
        /// By label; nil = not read yet.
        var stored: [String: [UInt8]]?
        /// The labels that a call is at, and the calls that wait for it.
        var waiting: [String: [CheckedContinuation<Void, Never>]] = [:]
    }

    /// What became of a result.
    package enum Stored: Sendable, Equatable {
        /// It is stored.
        case stored
        /// There is one of this label.
        case replayed([UInt8])
        case tooManyLabels
        case tooManyBytes
        /// The fence is not valid any more.
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

    /// Bytes that a result takes of `Defaults.onceBytes`.
    package static func byteCount(_ label: String, _ json: [UInt8]) -> Int { label.utf8.count + json.count }

    /// Whether one more result has room beside others.
    package static func judge(_ label: String, _ json: [UInt8], beside others: [String: [UInt8]]) -> Stored {
        if let other = others[label] { return .replayed(other) }
        if others.count >= Defaults.onceLabels { return .tooManyLabels }
        let bytes = others.reduce(byteCount(label, json)) { $0 + byteCount($1.key, $1.value) }
        return bytes > Defaults.onceBytes ? .tooManyBytes : .stored
    }

    /// Waits until no other call is at this label.
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

    /// The stored result of a label; throws if there is none and no room for one.
    func stored(_ label: String) async throws -> [UInt8]? {
        let all = try await all()
        if let found = all[label] { return found }
        // Known before the effect. Of its bytes only one that is full is.
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
    /// - Returns: the one that is kept, which is an older one if there was one.
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
                "the result of once(\"\(label)\") is not stored: this run no longer owns operation \(id), and another one may have "
                    + "the effect again",
                id: id
            )
        }
    }

    /// A cancel of the task that has had an effect must not keep its result from being stored.
    private func uncancelled<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws
        -> Value
    {
        try await Task { try await body() }.value
    }

    private func tooLarge(_ label: String, _ outcome: Stored) -> OperationsError {
        let limit =
            outcome == .tooManyLabels
            ? "the operation has \(Defaults.onceLabels) labels or \(Defaults.onceBytes) bytes, which is the most"
            : "its result and those stored before have more than \(Defaults.onceBytes) bytes together"
        return OperationsError(
            .tooLarge,
            "once(\"\(label)\") cannot store its result: \(limit); return a short result, such as the address of a longer one",
            id: id
        )
    }
}
