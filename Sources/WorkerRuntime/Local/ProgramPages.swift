import Foundation

/// The pages of program code that are in this process's memory.
///
/// The start of a worker touches most of them (command line, connections, registries), and the system maps the
/// neighbours of each. Waiting for work needs a few hundred kilobytes.
enum ProgramPages {
    /// Returns all code pages to the system. Later the system maps the needed ones again from its file cache: a few
    /// dozen faults of a microsecond, once. Nothing is lost, because only mappings that can never have been written to
    /// are touched.
    static func giveBack() {
        #if os(Linux)
            // Line by line: the system returns only a part of this file at a time.
            guard let maps = fopen("/proc/self/maps", "re") else { return }
            defer { fclose(maps) }
            var line: UnsafeMutablePointer<CChar>?
            var capacity = 0
            defer { free(line) }
            while getline(&line, &capacity, maps) > 0 {
                guard let text = line, let code = codeOfFile(String(cString: text)) else { continue }
                madvise(UnsafeMutableRawPointer(bitPattern: code.lowerBound), code.count, Int32(MADV_DONTNEED))
            }
        #endif
    }

    /// Parses a line of the form `first-end r-xp offset device inode path`.
    ///
    /// - Returns: the addresses, if the line is code of a file that cannot be written to in memory; else nil.
    static func codeOfFile(_ line: String) -> Range<UInt>? {
        let fields = line.split(whereSeparator: \.isWhitespace)
        guard fields.count >= 6, fields[1] == "r-xp", fields[5].first == "/" else { return nil }
        let bounds = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
        guard bounds.count == 2, bounds[0] < bounds[1] else { return nil }
        return bounds[0]..<bounds[1]
    }
}

/// Detects that a worker has become idle, from the values at each heartbeat. A pure value.
struct IdleWatch {
    typealias Instant = ContinuousClock.Instant

    /// The number of ended operations at the last heartbeat; nil before the first one, and while something runs.
    private var ended: Int64?
    private var since: Instant = .now
    private var isKnown = false

    /// - Parameters:
    ///   - ended: the number of operations that have ended here so far.
    ///   - busy: the number of running operations.
    ///   - patience: how long nothing must have run.
    /// - Returns: true at the first heartbeat after that time; then false until something has run.
    mutating func hasBecomeIdle(ended: Int64, busy: Int, at now: Instant, after patience: Duration) -> Bool {
        guard busy == 0, ended == self.ended else {
            (self.ended, since, isKnown) = (busy == 0 ? ended : nil, now, false)
            return false
        }
        guard !isKnown, now - since >= patience else { return false }
        isKnown = true
        return true
    }
}
