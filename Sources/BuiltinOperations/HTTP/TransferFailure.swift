import AsyncHTTPClient
import Glibc
import NIOHTTP1
import Operations

/// The failure of a transfer.
struct TransferFailure: OperationFailing, RetryTiming, CustomStringConvertible {
    let failureType: String
    let description: String
    var isRetryable = true
    var failureDetails: [String: Int]?
    var retryAfter: Duration?

    init(type: String, _ description: String, isRetryable: Bool = true) {
        failureType = type
        self.description = description
        self.isRetryable = isRetryable
    }

    /// Makes the failure for a status that was not expected.
    ///
    /// Retryable only for a failure of the server, or a request to come back later. Any other answer would be the same,
    /// and a request that took effect must not be repeated.
    ///
    /// - Parameters:
    ///   - response: the response.
    ///   - request: the request, for display.
    ///   - text: the server's explanation.
    init(_ response: HTTPClientResponse, to request: String, _ text: String = "") {
        let status = Int(response.status.code)
        failureType = "http"
        description =
            "\(request) answered \(status) \(response.status.reasonPhrase)"
            + (text.isEmpty ? "" : ": \(URLPasswords.masked(text))")
        isRetryable = status >= 500 || [408, 425, 429].contains(status)
        failureDetails = ["status": status]
        retryAfter = RetryAfter.read(response.headers)
    }

    /// Makes the failure for a file that could not be written. Not retryable if the place does not exist or is not
    /// permitted.
    ///
    /// - Parameters:
    ///   - path: the given path.
    ///   - step: a verb phrase for the failed step, before the path.
    ///   - code: the system's error number.
    init(file path: String, _ step: String, _ code: Int32) {
        failureType = "file"
        description = "cannot \(step) \(path): \(String(cString: strerror(code)))"
        isRetryable = ![ENOENT, ENOTDIR, EISDIR, EACCES, EROFS, EPERM, ENAMETOOLONG, ELOOP].contains(code)
        failureDetails = ["errno": Int(code)]
    }

    /// Makes the failure for a target that must not be replaced.
    init(file path: String, is kind: String) {
        failureType = "file"
        description = "\(path) is \(kind): only a regular file is replaced"
        isRetryable = false
    }

    /// Runs a transfer, and converts its errors.
    static func within<Result: Sendable>(
        _ address: WebAddress,
        _ body: () async throws -> Result
    ) async throws -> Result {
        do { return try await body() } catch let error as any OperationFailing {
            throw error
        } catch let error as OperationsError {
            throw error
        } catch {
            try Task.checkCancellation()
            let reason = (error as? HTTPClientError)?.shortDescription ?? "\(error)"
            throw TransferFailure(type: "transfer", "\(address.plain): \(reason)")
        }
    }
}
