import ExampleBasics
import Foundation
import Synchronization

/// The database: a file with one line per write. A line is complete or does not exist.
///
/// A page and its checkpoint are one line. If the process is killed, the store therefore ends with a page, and knows
/// which one.
///
/// Writes block, and must come one at a time. The database queue takes care of this, and the store counts writers.
final class Store: Sendable {
    private struct Line: Codable {
        /// The sync of the line. A line with nothing else begins the sync.
        var sync: String?
        var page: Page?
        var edit: Change?
        var uploaded: [Change]?
    }

    private struct State {
        var contacts: [String: Contact] = [:]
        var checkpoint = 0
        /// The sync that began last.
        var sync: String?
        var pending: [Change] = []
        var pages = 0
    }

    private let file: FileHandle
    private let state: Mutex<State>
    private let writers = Gauge()

    /// Opens or creates the store of a folder for exclusive use. Drops a line that was incomplete when the process
    /// died.
    ///
    /// - Parameter isReader: whether to only read. Such a store may be in use.
    init(folder: URL, isReader: Bool = false) throws {
        let url = Self.file(in: folder)
        let descriptor = open(url.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw SyncError(.store, "cannot write \(url.path): \(String(cString: strerror(errno)))")
        }
        file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        // The system releases the lock of a killed process.
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

    static func file(in folder: URL) -> URL { folder.appending(path: "contacts.journal") }

    var contacts: [Contact] { state.withLock { $0.contacts.values.sorted { $0.sequence < $1.sequence } } }
    /// The sequence after which the next page begins.
    var checkpoint: Int { state.withLock { $0.checkpoint } }
    /// Local changes that are not uploaded yet.
    var pending: [Change] { state.withLock { $0.pending } }
    /// The number of stored pages.
    var pages: Int { state.withLock { $0.pages } }
    var mostWritersAtOnce: Int { writers.most }
    var writes: Int { writers.total }

    /// Makes a sync the only one that may write.
    func begin(_ sync: String) throws {
        if state.withLock({ $0.sync }) != sync { try write(Line(sync: sync)) }
    }

    /// Writes a page and the checkpoint after it.
    ///
    /// - Parameter after: the checkpoint before the page. A page that is already stored is not written again.
    func write(_ page: Page, after: Int, of sync: String) throws {
        try expect(sync)
        let checkpoint = checkpoint
        guard checkpoint < page.next else { return }
        guard checkpoint == after else {
            throw SyncError(.invalid, "a page after \(after), but the store ends at \(checkpoint)")
        }
        try write(Line(sync: sync, page: page))
    }

    func write(_ edit: Change) throws { try write(Line(edit: edit)) }

    func noteUploaded(_ changes: [Change], of sync: String) throws {
        try expect(sync)
        try write(Line(sync: sync, uploaded: changes))
    }

    private func expect(_ sync: String) throws {
        let latest = state.withLock { $0.sync }
        guard sync == latest else {
            throw SyncError(.replaced, "sync \(sync) has been replaced by \(latest ?? "none")")
        }
    }

    private func write(_ line: Line) throws {
        writers.begin()
        defer { writers.end() }
        try file.write(contentsOf: try JSONEncoder().encode(line) + Data("\n".utf8))
        try file.synchronize()
        state.withLock { Self.apply(line, to: &$0) }
    }

    private static func apply(_ line: Line, to state: inout State) {
        if let sync = line.sync { state.sync = sync }
        if let page = line.page {
            for contact in page.contacts { state.contacts[contact.id] = contact }
            state.checkpoint = page.next
            state.pages += 1
        }
        if let edit = line.edit { state.pending.append(edit) }
        if let uploaded = line.uploaded { state.pending.removeAll { uploaded.contains($0) } }
    }
}
