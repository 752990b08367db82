import Foundation
import TestSupport

/// A record of the real runs, independent of the tested code. Each program appends a line when it starts and when it
/// ends.
struct Ledger: Sendable {
    struct Unreadable: Error { var line: String }

    struct Line: Sendable, Hashable {
        var id: String
        var attempt: Int
        var delivery: Int
        var fence: Int
        var event: String
        var pid: Int32
        /// Milliseconds since 1970.
        var at: Int
    }

    let path: String

    /// Returns the program of an `exec` operation that writes to the ledger and works for a while.
    func program(seconds: Double) -> [String] { ["sh", "-c", Self.script, path, "\(seconds)"] }

    /// Returns a program that works until `open(gate)`.
    func program(gate: String) -> [String] { ["sh", "-c", Self.gatedScript, path, path + "." + gate] }

    /// Lets the programs at this gate end, and all later ones.
    func open(_ gate: String) throws { try Data().write(to: URL(fileURLWithPath: path + "." + gate)) }

    /// Returns the program as a line of a batch.
    func batchLine(seconds: Double) -> String {
        let argv = program(seconds: seconds).map { "\"\($0.replacingOccurrences(of: "\"", with: "\\\""))\"" }
        return #"{"name":"exec","args":{"argv":[\#(argv.joined(separator: ","))]}}"#
    }

    /// O_APPEND writes a line at once, so lines of several programs do not mix.
    private static let say =
        "say() { echo $SLUICE_OPERATION_ID $SLUICE_ATTEMPT $SLUICE_DELIVERY $SLUICE_FENCE $1 $$ $(date +%s%3N) >> $0; }; "
    private static let script = say + "say start; sleep $1; say end"
    private static let gatedScript = say + "say start; while [ ! -e $1 ]; do sleep 0.1; done; say end"

    func lines() throws -> [Line] {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return [] }
        return try text.split(whereSeparator: \.isNewline).map { text in
            let words = text.split(separator: " ")
            guard words.count == 7, let attempt = Int(words[1]), let delivery = Int(words[2]),
                let fence = Int(words[3]),
                let pid = Int32(words[5]), let at = Int(words[6])
            else { throw Unreadable(line: String(text)) }
            return Line(
                id: String(words[0]),
                attempt: attempt,
                delivery: delivery,
                fence: fence,
                event: String(words[4]),
                pid: pid,
                at: at
            )
        }
    }

    func starts(of id: String? = nil) throws -> [Line] {
        try lines().filter { $0.event == "start" && $0.id == id ?? $0.id }
    }
    func ends(of id: String? = nil) throws -> [Line] {
        try lines().filter { $0.event == "end" && $0.id == id ?? $0.id }
    }
}

/// Returns whether a process exists and is no zombie.
func isAlive(_ pid: Int32) -> Bool {
    guard let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8) else { return false }
    return stat.split(separator: ")").last?.split(separator: " ").first != "Z"
}

/// Returns the live processes whose command line contains a text.
func processes(running text: String) -> [Int32] {
    let numbers = ((try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []).compactMap { Int32($0) }
    return numbers.filter { pid in
        let words = FileManager.default.contents(atPath: "/proc/\(pid)/cmdline") ?? Data()
        let line = String(decoding: words.map { $0 == 0 ? UInt8(ascii: " ") : $0 }, as: UTF8.self)
        return line.contains(text) && isAlive(pid)
    }
}

/// Returns the fields of /proc/PID/stat after the name, from the state on.
private func fields(of pid: Int32) throws -> [Substring] {
    let stat = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
    return stat.split(separator: ")").last?.split(separator: " ") ?? []
}

/// Returns the processes that a process has started and not collected.
func children(of pid: Int32) throws -> [Int32] {
    let numbers = try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { Int32($0) }
    return numbers.filter { ((try? fields(of: $0))?.dropFirst().first).flatMap { Int32($0) } == pid }
}

/// Returns the processor time of the collected children of a process, in hundredths of a second.
func childTicks(of pid: Int32) throws -> Int {
    try fields(of: pid).dropFirst(13).prefix(2).reduce(0) { $0 + (Int($1) ?? 0) }
}
