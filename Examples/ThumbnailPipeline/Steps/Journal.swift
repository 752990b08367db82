import Foundation
import Operations

/// What the steps of a run did, in order, in whichever process: a line each in one file.
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

    /// Does a step, and notes that it begins, and that it ends or fails.
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

    /// The same for work that blocks or computes, on a real thread.
    func noteBlocking<Output: Sendable>(
        _ step: String,
        _ body: @escaping @Sendable () throws -> Output
    ) async throws -> Output {
        try await note(step) { try await BlockingThreads.shared.run { try body() } }
    }

    /// In one call, to the end of the file: lines of several processes do not mix, and stand in the order in which they were written.
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

    /// How many of some steps there were at the most at once.
    ///
    /// A killed process leaves a step without an end. That step counts until the last line of the process, its last sign of life.
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

    /// Whether everything that one entry needs was there before it.
    package static func has(_ entry: String, after earlier: [String], in entries: [String]) -> Bool {
        guard let index = entries.firstIndex(of: entry) else { return false }
        return earlier.allSatisfy { entries[..<index].contains($0) }
    }
}
