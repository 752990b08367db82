import AsyncHTTPClient
import Crypto
import Foundation
import Operations

extension OperationHandler {
    /// Downloads `url` (http or https) into the file `path`, whose folder must exist. Result: `url`, `path`, `bytes`,
    /// `sha256`, `status`.
    ///
    /// The file is replaced atomically: a part file in the same folder takes its name when the download is complete.
    /// Links are followed, the mode and owner of a replaced file are kept, and only a regular file is replaced. Only
    /// responses with status 200 or 203 have the whole file.
    static let download = OperationHandler(name: "download", runTimeout: SluiceDefaults.externalRunTimeout) {
        json,
        context in
        let arguments = try DownloadArguments(json)
        return try await TransferFailure.within(arguments.address) {
            try await Download(arguments: arguments, context: context).run()
        }
    }
}

/// The arguments of `download`.
struct DownloadArguments {
    let address: WebAddress
    let path: String

    init(_ json: [UInt8]) throws {
        let arguments = try Arguments(json, of: "download")
        try arguments.allowDocumented()
        address = try arguments.address("url")
        path = try arguments.string("path")
        guard !path.isEmpty, !path.hasSuffix("/"), !path.utf8.contains(0) else {
            throw InvalidArguments("download", "\"path\" must name a file")
        }
    }
}

/// A transfer.
private struct Download {
    let arguments: DownloadArguments
    let context: OperationContext

    /// The statuses whose body is the file. A 206 has a part of the file, 204 and 205 have no body, and 201 and 202
    /// have another one.
    private static let whole: Set = [200, 203]

    func run() async throws -> [UInt8] {
        let fence = try context.fence
        let file = try PartialFile(target: arguments.path, mark: "\(context.id)-\(fence)")
        defer { file.discard() }
        let response = try await request()
        let (bytes, digest) = try await receive(response, into: file)
        _ = try context.fence  // a run that lost its lease must not replace the file of its successor
        try await file.keep()
        context.progress(1, Self.size(bytes))
        let result: JSONValue = [
            "url": .string(arguments.address.shown),
            "path": .string(arguments.path),
            "bytes": .number(bytes),
            "sha256": .string(digest),
            "status": .number(Int(response.status.code)),
        ]
        return result.serializedBytes()
    }

    private func request() async throws -> HTTPClientResponse {
        var request = HTTPClientRequest(url: arguments.address.url)
        request.headers.add(name: "User-Agent", value: "sluice")
        if let header = arguments.address.authorization { request.headers.add(name: "Authorization", value: header) }
        // Ask the server not to compress. Otherwise Content-Length and the checksum would be those of the compressed
        // data.
        request.headers.add(name: "Accept-Encoding", value: "identity")
        let limit = Int64(SluiceDefaults.externalRunTimeout.inSeconds)
        let response = try await HTTPConnections.shared.execute(request, timeout: .seconds(limit))
        guard Self.whole.contains(Int(response.status.code)) else {
            let isSuccess = (200..<300).contains(response.status.code)
            let note = isSuccess ? "not the whole file; nothing was written" : ""
            throw TransferFailure(response, to: arguments.address.plain, note)
        }
        return response
    }

    private func receive(_ response: HTTPClientResponse, into file: PartialFile) async throws -> (Int64, String) {
        let expected = response.headers.first(name: "Content-Length").flatMap { Int64($0) }
        var meter = Meter(expected: expected, context: context)
        var sum = SHA256()
        for try await buffer in response.body {
            try Task.checkCancellation()
            try buffer.withUnsafeReadableBytes { bytes in
                sum.update(bufferPointer: bytes)
                try file.write(bytes)
            }
            meter.add(Int64(buffer.readableBytes))
        }
        try Task.checkCancellation()
        if let expected, meter.received != expected {
            throw TransferFailure(
                type: "transfer",
                "\(arguments.address.plain) ended after \(meter.received) of \(expected) bytes"
            )
        }
        return (meter.received, sum.finalize().hexadecimal)
    }

    static func size(_ bytes: Int64) -> String {
        switch bytes {
        case ..<1000: "\(bytes) B"
        case ..<1_000_000: "\(tenths(bytes, 1000)) kB"
        case ..<1_000_000_000: "\(tenths(bytes, 1_000_000)) MB"
        default: "\(tenths(bytes, 1_000_000_000)) GB"
        }
    }

    private static func tenths(_ bytes: Int64, _ unit: Int64) -> String {
        "\(bytes / unit).\(bytes % unit * 10 / unit)"
    }

    /// Counts received bytes, and reports progress a few times a second.
    private struct Meter {
        private static let rhythm: Duration = .milliseconds(100)
        let expected: Int64?
        let context: OperationContext
        var received: Int64 = 0
        private var next = ContinuousClock.now

        init(expected: Int64?, context: OperationContext) {
            self.expected = expected
            self.context = context
        }

        mutating func add(_ count: Int64) {
            received += count
            guard ContinuousClock.now >= next else { return }
            next = .now + Self.rhythm
            if let expected, expected > 0 {
                let fraction = Double(received) / Double(expected)
                context.progress(fraction, "\(Download.size(received)) of \(Download.size(expected))")
            } else {
                context.progress(0, Download.size(received))
            }
        }
    }
}
