import ExampleBasics
import Foundation
import Synchronization

/// The database: a file with one line per write, which is there as a whole or not at all. A page and the checkpoint after it are one line,
/// so whatever kills the process, the store is at the end of some page and says which.
///
/// Writes block, and must come one at a time: that is the database queue's business, and counted here.
final class Store: Sendable {
    private struct Line: Codable {
        var page: Page?
        var edit: Change?
        var uploaded: [Change]?
    }

    private struct State {
        var contacts: [String: Contact] = [:]
        var checkpoint = 0
        var pending: [Change] = []
        var pages = 0
    }

    private let file: FileHandle
    private let state: Mutex<State>
    private let writers = Gauge()

    /// Opens or makes the store of a folder, for this one alone. A line that was being written when the process died is dropped.
    ///
    /// - Parameter isReader: only looks, at a store that may be in use.
    init(folder: URL, isReader: Bool = false) throws {
        let url = Self.file(in: folder)
        if !FileManager.default.fileExists(atPath: url.path) {
            guard FileManager.default.createFile(atPath: url.path, contents: nil) else {
                throw SyncError(.store, "cannot write \(url.path)")
            }
        }
        file = try FileHandle(forUpdating: url)
        // Of one that was killed nothing stays locked.
        guard isReader || flock(file.fileDescriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw SyncError(.store, "\(url.path) is in use")
        }
        let data = try file.readToEnd() ?? Data()
        let whole = data.prefix(through: data.lastIndex(of: UInt8(ascii: "\n")) ?? data.startIndex - 1)
        var state = State()
        for (number, line) in whole.split(separator: UInt8(ascii: "\n")).enumerated() {
            guard let line = try? JSONDecoder().decode(Line.self, from: line) else {
                throw SyncError(.store, "\(url.path):\(number + 1) is damaged")
            }
            Self.apply(line, to: &state)
        }
        if !isReader { try file.truncate(atOffset: UInt64(whole.count)) }
        self.state = Mutex(state)
    }

    deinit { try? file.close() }

    static func file(in folder: URL) -> URL { folder.appending(path: "contacts.journal") }

    var contacts: [Contact] { state.withLock { $0.contacts.values.sorted { $0.sequence < $1.sequence } } }
    /// The sequence after which the next page begins.
    var checkpoint: Int { state.withLock { $0.checkpoint } }
    /// What was changed here and not uploaded yet.
    var pending: [Change] { state.withLock { $0.pending } }
    /// How many pages it has.
    var pages: Int { state.withLock { $0.pages } }
    var mostWritersAtOnce: Int { writers.most }
    var writes: Int { writers.total }

    func write(_ page: Page) throws { try write(Line(page: page)) }
    func write(_ edit: Change) throws { try write(Line(edit: edit)) }
    func noteUploaded(_ changes: [Change]) throws { try write(Line(uploaded: changes)) }

    private func write(_ line: Line) throws {
        writers.begin()
        defer { writers.end() }
        try file.write(contentsOf: try JSONEncoder().encode(line) + Data("\n".utf8))
        try file.synchronize()
        state.withLock { Self.apply(line, to: &$0) }
    }

    private static func apply(_ line: Line, to state: inout State) {
        if let page = line.page {
            for contact in page.contacts { state.contacts[contact.id] = contact }
            state.checkpoint = page.next
            state.pages += 1
        }
        if let edit = line.edit { state.pending.append(edit) }
        if let uploaded = line.uploaded { state.pending.removeAll { uploaded.contains($0) } }
    }
}
