import Foundation

extension OperationDefinition {
    /// Makes a handler for a worker's registry.
    ///
    /// - Parameters:
    ///   - retryPolicy: attempts and pauses, unless the options or the producer set their own.
    ///   - decode: reads the arguments.
    ///   - encode: writes the result.
    package func handler(
        retryPolicy: RetryPolicy = RetryPolicy(),
        decode: @escaping @Sendable ([UInt8]) throws -> Arguments,
        encode: @escaping @Sendable (Output) throws -> [UInt8]
    ) -> OperationHandler {
        let retry = options.retry
        let decides = retry.map { !$0.isNever && $0.policy == nil } ?? false
        return OperationHandler(
            name: name,
            retryPolicy: retry?.policy ?? (retry?.isNever == true ? .never : retryPolicy),
            runTimeout: options.runTimeout,
            decide: { [isForeign] error, attempt in
                if isForeign, error is CancellationError { return .discard }
                return decides ? retry?.decision(error, attempt) : nil
            }
        ) { arguments, context in
            let arguments = try decode(arguments)
            let output = try await run(arguments, context)
            return try ResultFailure.encode(of: name) { try encode(output) }
        }
    }

    /// Runs one operation. The worker is responsible for retries and the time limit.
    private func run(_ arguments: Arguments, _ context: OperationContext) async throws -> Output {
        var options = options
        options.retry = .never
        options.runTimeout = nil
        options.priority = context.priority
        let operation = make(arguments, options, .outside)
        return try await operation.run(in: context, givingUpAfter: isForeign ? options.grace : nil)
    }
}

extension ValueOperation {
    /// Runs the operation for a worker, which gets its reports. A cancel of the calling task cancels the operation.
    ///
    /// - Parameter grace: how long the operation may take to end after a cancel; nil = wait until it ends.
    func run(in context: OperationContext, givingUpAfter grace: Duration?) async throws -> Output {
        locked { _ in orMakeExtras.context = context }
        try await withTaskCancellationHandler {
            _ = try await start()
        } onCancel: {
            cancel(reason: context.cancellation?.reason ?? "")
            if let grace { giveUp(after: grace) }
        }
        if let result, case .success(let value) = result { return value }
        throw ending.error ?? CancellationError()
    }
}

/// Stored arguments that do not fit the operation's type. Not retryable, because another attempt would read the same
/// arguments.
package struct ArgumentsFailure: OperationFailing, CustomStringConvertible {
    let name: String
    let error: any Error

    /// Reads arguments.
    package static func decode<Arguments: Decodable>(
        _ json: [UInt8],
        as type: Arguments.Type = Arguments.self,
        of name: String
    ) throws(ArgumentsFailure) -> Arguments {
        do { return try JSONDecoder().decode(type, from: Data(json)) } catch {
            throw ArgumentsFailure(name: name, error: error)
        }
    }

    package var failureType: String { "arguments" }
    package var isRetryable: Bool { false }

    package var description: String { "the arguments of \"\(name)\" do not fit: \(reason)" }

    private var reason: String {
        guard let error = error as? DecodingError else { return String(describing: error) }
        switch error {
        case .keyNotFound(let key, _): return "\"\(key.stringValue)\" is missing"
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            let path = context.codingPath.map(\.stringValue).joined(separator: ".")
            return (path.isEmpty ? "" : "\"\(path)\": ") + context.debugDescription
        @unknown default: return String(describing: error)
        }
    }
}

/// A result that cannot be written as JSON, such as an infinite number. Another attempt would return the same result,
/// so the operation is dead.
package struct ResultFailure: OperationFailing, CustomStringConvertible {
    let name: String
    let error: any Error

    /// Writes a result.
    ///
    /// - Throws: `ResultFailure` if the closure throws.
    package static func encode(of name: String, _ write: () throws -> [UInt8]) throws(ResultFailure) -> [UInt8] {
        do { return try write() } catch { throw ResultFailure(name: name, error: error) }
    }

    package var failureType: String { "result" }
    package var isRetryable: Bool { false }

    package var description: String { "the result of \"\(name)\" cannot be stored as JSON: \(reason)" }

    private var reason: String {
        guard case .invalidValue(let value, let context) = error as? EncodingError else {
            return String(describing: error)
        }
        let path = context.codingPath.map(\.stringValue).joined(separator: ".")
        return (path.isEmpty ? "" : "\"\(path)\": ") + "\(value) is no JSON value"
    }
}
