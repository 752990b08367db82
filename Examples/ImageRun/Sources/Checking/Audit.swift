/// Compares the downloaded files with the drawn and served ones. A pure value: the caller reads the files.
struct Audit: Hashable {
    /// The properties of a file that the audit compares.
    struct File: Hashable {
        let bytes: Int
        let sha256: String
    }

    private(set) var counts: [String: Int] = [:]
    private(set) var retried = 0
    private(set) var bytes = 0
    private(set) var equalHashes = 0
    private(set) var maximumInFlight = 0
    /// The differences, one sentence each; empty = everything is correct.
    private(set) var differences: [String] = []

    /// - Parameters:
    ///   - source: the served files, by name.
    ///   - target: the files in the download folder, by name.
    ///   - records: the operations.
    ///   - log: the server's log.
    ///   - inFlightLimit: the most requests that may have been in flight.
    ///   - expected: the number of operations that must have ended in each way (`finished`, `retried`, `dead`, …).
    init(
        source: [String: File],
        target: [String: File],
        records: [DownloadRecord],
        log: [Traffic.Entry],
        inFlightLimit: Int,
        expected: [String: Int] = [:]
    ) {
        let downloads = records.filter { $0.name == "download" }
        for record in downloads { count(record) }
        for record in downloads where record.state == "finished" { compare(record, source, target) }
        findStrays(source, target, downloads)
        examine(log, limit: inFlightLimit)
        for (word, number) in expected.sorted(by: { $0.key < $1.key }) where count(of: word) != number {
            differences.append("\(count(of: word)) downloads are \(word), expected \(number)")
        }
        if downloads.isEmpty { differences.append("there is no download among the results") }
    }

    private func count(of word: String) -> Int { word == "retried" ? retried : counts[word] ?? 0 }

    private mutating func count(_ record: DownloadRecord) {
        counts[record.state, default: 0] += 1
        if record.state == "finished" && record.attempt ?? 1 > 1 { retried += 1 }
        if !["finished", "dead", "cancelled", "expired"].contains(record.state) {
            differences.append("\(record.id) has not ended: \(record.state)")
        }
    }

    private mutating func compare(_ record: DownloadRecord, _ source: [String: File], _ target: [String: File]) {
        guard let name = record.fileName, let original = source[name] else {
            return differences.append("\(record.id) finished, but its URL names no file that was served")
        }
        let stored = record.result?.path.map { String($0.split(separator: "/").last ?? "") } ?? name
        guard let copy = target[stored] else { return differences.append("\(name) is missing (\(record.id))") }
        bytes += copy.bytes
        guard copy == original else {
            return differences.append("\(name) differs: \(copy.bytes) of \(original.bytes) bytes, \(copy.sha256)")
        }
        guard record.result?.sha256 == original.sha256, record.result?.bytes == original.bytes else {
            return differences.append("\(name) is right, but the result of \(record.id) says otherwise")
        }
        equalHashes += 1
    }

    /// Notes files that no operation asked for, and files that are missing although no operation failed.
    private mutating func findStrays(
        _ source: [String: File],
        _ target: [String: File],
        _ downloads: [DownloadRecord]
    ) {
        let asked = Set(downloads.compactMap(\.fileName))
        let finished = downloads.filter { $0.state == "finished" }
        let stored = Set(finished.compactMap { $0.result?.path?.split(separator: "/").last.map(String.init) })
            .union(finished.compactMap { $0.result?.path == nil ? $0.fileName : nil })
        for name in target.keys.sorted() where !stored.contains(name) {
            differences.append("\(name) lies in the target, but no download that finished stored it")
        }
        for name in source.keys.sorted() where !asked.contains(name) {
            differences.append("\(name) was drawn, but never asked for")
        }
    }

    private mutating func examine(_ log: [Traffic.Entry], limit: Int) {
        maximumInFlight = log.map(\.inFlight).max() ?? 0
        if log.isEmpty { differences.append("the server's log is empty") }
        if maximumInFlight > limit {
            differences.append("\(maximumInFlight) requests were in flight at once, at most \(limit) allowed")
        }
    }

    /// Returns the closing table.
    func table(inFlightLimit: Int) -> String {
        let rows = [
            ("finished", "\(count(of: "finished"))"), ("  of them retried", "\(retried)"),
            ("dead", "\(count(of: "dead"))"), ("cancelled", "\(count(of: "cancelled"))"), ("bytes", "\(bytes)"),
            ("sha256 equal", "\(equalHashes) of \(count(of: "finished"))"),
            ("most in flight", "\(maximumInFlight) of at most \(inFlightLimit)"),
        ]
        let titleWidth = rows.map(\.0.count).max() ?? 0
        return rows.map { $0.0 + String(repeating: " ", count: titleWidth - $0.0.count + 2) + $0.1 }
            .joined(separator: "\n")
    }
}
