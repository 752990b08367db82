import Foundation
import Operations

/// A log of the steps of a run, in order, from all processes: one line for each event in a file.
package struct Journal: Sendable {
    /// A line of the file.
    package struct Line: Sendable, Hashable {
        package enum Event: String, Sendable { case begin, end, fail }

        /// The process that ran the step.
        package let process: Int32
        package let event: Event
        package let step: String

        /// `begin resize 3`
        package var entry: String { "\(event.rawValue) \(step)" }
    }

    let file: String

    // MARK: Writing

    /// Runs a step, and logs its beginning and its end or failure.
    func note<Output>(_ step: String, _ body: () async throws -> Output) async throws -> Output {
        try append(.begin, step)
        do {
            let output = try await body()
            try append(.end, step)
            return output
        } catch {
            try append(.fail, step)
            throw error
        }
    }

    /// Runs and logs a step that blocks or computes, on a separate thread.
    func noteBlocking<Output: Sendable>(
        _ step: String,
        _ body: @escaping @Sendable () throws -> Output
    ) async throws -> Output {
        try await note(step) { try await BlockingThreads.shared.run { try body() } }
    }

    /// Appends a line with one call. So lines of several processes do not mix, and stay in the order of writing.
    private func append(_ event: Line.Event, _ step: String) throws {
        let descriptor = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        defer { close(descriptor) }
        let line = Array("\(ProcessInfo.processInfo.processIdentifier) \(event.rawValue) \(step)\n".utf8)
        guard write(descriptor, line, line.count) == line.count else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
    }

    // MARK: Reading

    /// The lines so far.
    package var lines: [Line] {
        let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ", maxSplits: 2)
            guard words.count == 3, let process = Int32(words[0]), let event = Line.Event(rawValue: String(words[1]))
            else { return nil }
            return Line(process: process, event: event, step: String(words[2]))
        }
    }

    /// Returns the most counted steps that ran at once.
    ///
    /// A killed process leaves a step without an end. Such a step counts until the last line of its process.
    package static func mostAtOnce(_ lines: [Line], of isCounted: (_ step: String) -> Bool) -> Int {
        var last: [Int32: Int] = [:]
        for (index, line) in lines.enumerated() { last[line.process] = index }
        var (running, most) = (Set<Run>(), 0)
        for (index, line) in lines.enumerated() where isCounted(line.step) {
            running = running.filter { last[$0.process, default: 0] >= index }
            let run = Run(process: line.process, step: line.step)
            if line.event == .begin { running.insert(run) } else { running.remove(run) }
            most = max(most, running.count)
        }
        return most
    }

    private struct Run: Hashable {
        let process: Int32
        let step: String
    }

    /// Returns whether all earlier entries stand before an entry.
    package static func has(_ entry: String, after earlier: [String], in entries: [String]) -> Bool {
        guard let index = entries.firstIndex(of: entry) else { return false }
        return earlier.allSatisfy { entries[..<index].contains($0) }
    }
}
