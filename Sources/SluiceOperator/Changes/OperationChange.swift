import Operations

/// A change that is applied to operations of a queue, at most 500 at once.
package struct OperationChange: Sendable {
    package let broker: any OperatorBroker
    package let kind: ChangeKind
    /// Author and reason of the change; other kinds than a cancel use only these.
    package let request: CancelRequest
    /// The server's time in milliseconds, for the ages of ends; nil = without ages.
    package let now: (@Sendable () -> Int64)?

    package init(
        _ broker: any OperatorBroker,
        _ kind: ChangeKind,
        _ request: CancelRequest,
        now: (@Sendable () -> Int64)? = nil
    ) {
        (self.broker, self.kind, self.request, self.now) = (broker, kind, request, now)
    }

    /// Changes operations of a queue.
    ///
    /// - Parameter spread: gives the times of retried operations; nil = all now.
    /// - Returns: the outcome of each operation, in order.
    package func apply(
        _ ids: [OperationID],
        spread: Spread? = nil,
        queue: String
    ) async throws -> [OperationOutcome] {
        guard kind != .cancel else {
            let outcomes = try await broker.cancelWithMembers(ids, request: request, queue: queue)
            let now = now?()
            return zip(ids, outcomes).map { id, outcome in
                OperationOutcome(outcome, of: OperationAddress(queue: queue, id: id), now: now)
            }
        }
        var outcomes = zip(ids, try await change(ids, spread, queue)).map { id, outcome in
            OperationOutcome(outcome, of: OperationAddress(queue: queue, id: id), kind)
        }
        let refused = outcomes.filter { $0.result == .refused }.compactMap(\.address?.id)
        // The change is made. Without an answer now, the state is the reason.
        let reasons = (try? await reasonsOfGroups(refused, queue)) ?? [:]
        for index in outcomes.indices {
            if let id = outcomes[index].address?.id, let reason = reasons[id] { outcomes[index].text = reason }
        }
        return outcomes
    }

    private func change(_ ids: [OperationID], _ spread: Spread?, _ queue: String) async throws -> [ChangeOutcome] {
        switch kind {
        case .cancel: []
        case .retry: try await broker.retryWithMembers(ids, spread: spread, by: request.by, queue: queue)
        case .hold: try await broker.hold(ids, by: request.by, reason: request.reason, queue: queue)
        case .release: try await broker.release(ids, by: request.by, queue: queue)
        case .remove: try await broker.remove(ids, by: request.by, queue: queue)
        }
    }

    /// The reasons of refused operations that are groups, or callbacks of groups.
    private func reasonsOfGroups(_ refused: [OperationID], _ queue: String) async throws -> [OperationID: String] {
        guard !refused.isEmpty else { return [:] }
        let details = try await broker.allDetails(refused, queue: queue)
        return details.compactMap { $0 }.reduce(into: [:]) { reasons, detail in
            if detail.links.group != nil {
                reasons[detail.id] = GroupSummary.refusal(of: kind.verb, detail.id)
            } else if let need = detail.links.callbackNeed {
                reasons[detail.id] = GroupSummary.refusal(ofCallback: detail, need)
            }
        }
    }
}
