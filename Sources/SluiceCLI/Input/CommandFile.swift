import Foundation
import Operations

/// A file of commands, one a line. Each command becomes an `exec` operation. All lines are checked before any operation
/// is sent.
package struct CommandFile: Sendable {
    let errors: LineErrors
    private let settings: EnqueueSettings
    /// The arguments that all operations share.
    private let common: JSONObject

    package init(name: String, settings: EnqueueSettings, common: JSONObject = JSONObject()) {
        errors = LineErrors(file: name, example: "convert 'my photo.png' -resize 50% small.png")
        self.settings = settings
        self.common = common
    }

    /// Reads all lines. Skips empty lines and lines that begin with `#`.
    ///
    /// - Throws: `CLIError` with `.usage`, which names file and line.
    package func read(_ bytes: [UInt8]) throws(CLIError) -> Batch {
        var batch = Batch()
        var part = BatchPart()
        var number = 0
        for line in bytes.withoutByteOrderMark.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            do {
                guard var request = try request(line) else { continue }
                request.line = number
                part.append(request)
                guard part.count == BatchPart.most else { continue }
                batch.append(part)
                part = BatchPart()
            } catch {
                throw errors.error(number, "\(error)")
            }
        }
        batch.append(part)
        return batch
    }

    /// Parses a line.
    ///
    /// - Returns: nil for a line without a command.
    private func request(_ line: ArraySlice<UInt8>) throws -> EnqueueInput? {
        let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
        guard !line.contains(0) else { throw Mistake(description: "a command cannot contain a NUL byte") }
        guard let text = String(validating: line, as: UTF8.self) else {
            throw Mistake(description: "the line is not UTF-8")
        }
        let words: [String]
        do { words = try CommandWords.split(text) } catch {
            throw Mistake(description: "column \(error.column): \(error.message)")
        }
        guard let program = words.first else { return nil }
        guard !program.isEmpty else { throw Mistake(description: "the program's name is empty") }
        var arguments = JSONObject([("argv", .array(words.map { .string($0) }))])
        for member in common.members { arguments[member.key] = member.value }
        do {
            return try settings.request(name: "exec", arguments: JSONValue.object(arguments).serializedBytes())
        } catch let error as CLIError {
            throw Mistake(description: error.message)
        }
    }
}

/// An error in a line.
private struct Mistake: Error, CustomStringConvertible {
    let description: String
}
