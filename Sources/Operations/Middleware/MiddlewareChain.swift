import Synchronization

/// The middleware of a client or a worker, the outermost first.
package struct MiddlewareChain: Sendable {
    package var all: [any OperationMiddleware]

    package init(_ all: [any OperationMiddleware] = []) { self.all = all }

    /// Whether an enqueue and a run need no chain.
    package var isEmpty: Bool { all.isEmpty }

    /// Passes operations through all middleware and then on.
    ///
    /// - Parameters:
    ///   - isDue: whether a worker enqueues for a schedule.
    ///   - send: enqueues the operations as the middleware has changed them.
    /// - Returns: the answer of `send`.
    /// - Throws: the error of a middleware or of `send`; `OperationsError` with `.invalidOption` if a middleware has
    ///   changed the operations in a way that is not allowed, or has not passed them on.
    package func enqueue<Answer: Sendable>(
        _ operations: [NewOperation],
        queue: String,
        isDue: Bool = false,
        send: @escaping @Sendable ([NewOperation]) async throws -> (Answer, [EnqueuedOperation])
    ) async throws -> Answer {
        let answer = Mutex<Answer?>(nil)
        let last: EnqueueRequest.Next = { request in
            let (own, enqueued) = try await send(try request.applied(to: operations))
            answer.withLock { $0 = own }
            return enqueued
        }
        let chain = all.reversed().reduce(last) { next, middleware in
            { try await middleware.enqueue($0, next: next) }
        }
        _ = try await chain(try EnqueueRequest(operations, queue: queue, isDue: isDue))
        guard let answer = answer.withLock({ $0 }) else {
            throw OperationsError(
                .invalidOption,
                "a middleware returned without calling next, so nothing was enqueued: call next, or throw an error"
            )
        }
        return answer
    }

    /// Runs a body inside all middleware.
    ///
    /// - Returns: the result of the body; `null` if a middleware has not called it.
    package func execute(
        _ context: OperationContext,
        body: @escaping @Sendable (OperationContext) async throws -> [UInt8]
    ) async throws -> [UInt8] {
        let result = Mutex<[UInt8]>([])
        let signal = Mutex<(any Error)?>(nil)
        let last: ExecuteNext = { context in
            do {
                let own = try await body(context)
                result.withLock { $0 = own }
            } catch {
                if error is Snooze || error is SlotLeft || (error as? OperationsError)?.code == .leaseLost {
                    signal.withLock { $0 = error }
                }
                throw error
            }
        }
        let chain = all.reversed().reduce(last) { next, middleware in
            { try await middleware.execute($0, next: next) }
        }
        do { try await chain(context) } catch {
            // A transaction wraps what the body throws, but these errors are requests to the worker.
            throw signal.withLock { $0 } ?? error
        }
        return result.withLock { $0 }
    }
}

extension EnqueueRequest {
    fileprivate init(_ operations: [NewOperation], queue: String, isDue: Bool) throws(OperationsError) {
        (self.queue, self.isDue) = (queue, isDue)
        self.operations = try operations.map { new throws(OperationsError) in
            Operation(id: new.id, envelope: try OperationEnvelope(new.envelope))
        }
    }

    /// Returns the operations with the headers and tags of this request.
    fileprivate func applied(to new: [NewOperation]) throws(OperationsError) -> [NewOperation] {
        guard operations.map(\.id) == new.map(\.id) else {
            throw OperationsError(
                .invalidOption,
                "a middleware passed on \(operations.count) of \(new.count) operations, or changed their order: "
                    + "pass on all of them in order, or throw an error"
            )
        }
        return try zip(operations, new).map { operation, new throws(OperationsError) in
            guard try operation.envelope != OperationEnvelope(new.envelope) else { return new }
            var (envelope, new) = (operation.envelope, new)
            do throws(OperationsError) { try envelope.validate() } catch {
                // A trace that no longer fits must not refuse an operation.
                envelope.headers = TraceContext.withoutContext(envelope.headers)
                guard (try? envelope.validate()) != nil else { throw error }
            }
            new.envelope = envelope.encoded()
            return new
        }
    }
}
