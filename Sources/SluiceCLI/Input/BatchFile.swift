import Foundation
import Operations
import Sluice
import SluiceOperator

/// A file of operations, one JSON object a line. All lines are checked before any operation is sent.
package struct BatchFile: Sendable {
    /// The number of bytes that one task checks.
    private static let part = 1 << 18
    /// The number of parts with their text in memory at a time.
    private static let parts = 4 * ProcessInfo.processInfo.activeProcessorCount
    private static let lineBytes = 2 * SluiceDefaults.operationBytes

    let errors: LineErrors
    private let reader: BatchLineReader
    private var ids: [PlacedID: Int] = [:]
    private var lines = 0

    /// An id with its queue, since two queues can have the same id.
    private struct PlacedID: Hashable {
        let queue: String
        let id: OperationID
    }

    package init(name: String, defaults: EnqueueSettings) {
        errors = LineErrors(
            file: name,
            example: #"{"name":"sleep","args":{"seconds":3},"queue":"mail","priority":"high"}"#
        )
        reader = BatchLineReader(defaults: defaults)
    }

    /// Reads all lines, in parallel. Skips empty lines.
    ///
    /// - Parameter next: reads at most the given number of bytes; nil = the end of the file.
    /// - Throws: `CLIError` with `.usage`, which names the file and the first wrong line.
    package mutating func read(_ next: (Int) throws -> Data?) async throws -> Batch {
        var batch = Batch()
        var waiting: [ArraySlice<UInt8>] = []
        var rest: [UInt8] = []
        var isFirst = true
        while let data = try next(Self.part) {
            rest += data
            if isFirst {
                // The check for a byte order mark needs 4 bytes, but a pipe can deliver one byte at a time.
                guard rest.count >= 4 else { continue }
                rest = try withoutMark(rest)
                isFirst = false
            }
            // A pipe delivers a few bytes at a time; wait for a whole part.
            guard rest.count >= Self.part else { continue }
            guard let end = rest.lastIndex(of: UInt8(ascii: "\n")) else {
                guard rest.count <= Self.lineBytes else {
                    try await check(&waiting, into: &batch)
                    throw errors.error(lines + 1, "the line is longer than 2 MiB")
                }
                continue
            }
            waiting.append(rest[...end])
            rest = Array(rest[(end + 1)...])
            if waiting.count == Self.parts { try await check(&waiting, into: &batch) }
        }
        waiting.append(isFirst ? try withoutMark(rest)[...] : rest[...])
        try await check(&waiting, into: &batch)
        return batch
    }

    private func withoutMark(_ bytes: [UInt8]) throws(CLIError) -> [UInt8] {
        if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
            throw .usage(
                "\(errors.file) is UTF-16, and must be UTF-8; nothing was enqueued",
                fix: "iconv -f UTF-16 -t UTF-8 FILE | \(Program.name) enqueue --batch -"
            )
        }
        return Array(bytes.withoutByteOrderMark)
    }

    /// Parses the waiting chunks, each in its own task, and appends their requests in the order of the lines.
    private mutating func check(
        _ waiting: inout [ArraySlice<UInt8>],
        into batch: inout Batch
    ) async throws {
        let parts = waiting
        waiting = []
        let reader = reader
        let checked = await withTaskGroup(of: (Int, CheckedLines).self) { group in
            for (index, part) in parts.enumerated() { group.addTask { (index, CheckedLines(part, reader)) } }
            var checked: [CheckedLines?] = Array(repeating: nil, count: parts.count)
            for await (index, lines) in group { checked[index] = lines }
            return checked
        }
        for case let lines? in checked { try take(lines, into: &batch) }
    }

    private mutating func take(_ checked: CheckedLines, into batch: inout Batch) throws(CLIError) {
        var part = checked.part
        part.linesBefore = lines
        for (line, queue, id) in part.named {
            if let first = ids.updateValue(line, forKey: PlacedID(queue: queue, id: id)) {
                throw errors.error(line, "the \"id\" is already used in line \(first) for the same queue")
            }
        }
        if let mistake = checked.mistake { throw errors.error(lines + checked.lines, mistake) }
        batch.append(part)
        lines += checked.lines
    }
}

/// The operations of consecutive lines.
private struct CheckedLines: Sendable {
    /// The operations. Line numbers count from the first of these lines, which is 1.
    var part = BatchPart()
    /// The number of lines that were read. If there was an error, the last of them caused it.
    var lines = 0
    var mistake: String?

    init(_ bytes: ArraySlice<UInt8>, _ reader: BatchLineReader) {
        defer { part.shrink() }
        var rest = bytes
        while !rest.isEmpty {
            let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? rest.endIndex
            lines += 1
            do {
                if var request = try reader.request(rest[rest.startIndex..<end]) {
                    request.line = lines
                    part.append(request)
                }
            } catch {
                mistake = (error as? CLIError)?.message ?? String(describing: error)
                return
            }
            rest = rest[min(end + 1, rest.endIndex)...]
        }
    }
}
