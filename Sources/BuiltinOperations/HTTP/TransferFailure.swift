import AsyncHTTPClient
import Glibc
import NIOHTTP1
import Operations

/// Why a transfer did not come about.
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

    /// The server said something else than was expected. Only what failed on its side, or asks to come back later, is tried again: any
    /// other answer would be the same, and a request that took effect must not be repeated.
    ///
    /// - Parameters:
    ///   - response: the answer.
    ///   - request: what was asked for.
    ///   - text: what the server said about it.
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

    /// A file could not be written. A place that does not exist or is forbidden will not do next time either.
    ///
    /// - Parameters:
    ///   - path: the file, as it was given.
    ///   - step: what failed, a verb phrase that the path follows.
    ///   - code: the system's number for it.
    init(file path: String, _ step: String, _ code: Int32) {
        failureType = "file"
        description = "cannot \(step) \(path): \(String(cString: strerror(code)))"
        isRetryable = ![ENOENT, ENOTDIR, EISDIR, EACCES, EROFS, EPERM, ENAMETOOLONG, ELOOP].contains(code)
        failureDetails = ["errno": Int(code)]
    }

    /// Something is there that must not be replaced.
    init(file path: String, is kind: String) {
        failureType = "file"
        description = "\(path) is \(kind): only a regular file is replaced"
        isRetryable = false
    }

    /// Runs a transfer, and makes of whatever it throws what is to be said of it.
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
