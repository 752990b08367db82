import ExampleBasics
import ExampleServer
import Foundation
import Operations
import Synchronization

/// A sync with everything that can go wrong.
@MainActor
struct Demonstration {
    let folder: URL
    private let contacts = 60
    private let watch = Stopwatch()

    init(folder: URL) { self.folder = folder }

    func run() async throws -> Claims {
        let (reached, isReached) = AsyncStream<Int>.makeStream()
        let site = SyncServer(contacts: contacts) { request, earlier in
            try? await Task.sleep(for: .milliseconds(25))
            guard earlier == 0 else { return nil }
            return await Self.trouble(request, isReached)
        }
        let server = try await site.serve()
        var claims = Claims()
        try await killed(site, server, reached, &claims)
        try await resumed(site, server, reached, &claims)
        try await server.stop()
        return claims
    }

    /// Returns the fault for the first request after each sequence.
    private nonisolated static func trouble(
        _ request: PageRequest,
        _ isReached: AsyncStream<Int>.Continuation
    ) async -> ExampleServer.Response? {
        switch request.after {
        case 20, 40:
            // The server does not answer until the client is gone. Here the client is killed, and later it is stopped.
            isReached.yield(request.after)
            try? await Task.sleep(for: .seconds(600))
            return nil
        case 30: return SyncServer.reply(503, Refusal(error: "too busy"), headers: ["Retry-After": "0"])
        case 50: return SyncServer.reply(200, Page(contacts: [], next: 7, hasNext: true))
        default: return nil
        }
    }

    // MARK: Killed

    private func killed(
        _ site: SyncServer,
        _ server: ExampleServer,
        _ reached: AsyncStream<Int>,
        _ claims: inout Claims
    ) async throws {
        print("A process of its own syncs \(contacts) contacts, five a page:")
        let process = Process()
        process.executableURL = Bundle.main.executableURL
        process.arguments = ["--server", server.address, "--store", folder.path]
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        for await after in reached where after == 20 { break }
        kill(process.processIdentifier, SIGKILL)
        try await BlockingThreads.shared.run { process.waitUntilExit() }
        say("killed by SIGKILL while it waited for its page after 20")
        let wasKilled = process.terminationReason == .uncaughtSignal
        let store = try Store(folder: folder)
        let isWhole = store.contacts == Array(site.contacts.prefix(20)) && store.checkpoint == 20
        claims.claim("killed, the store ends with a whole page", wasKilled && isWhole, "\(store.pages) pages")
    }

    // MARK: Resumed

    private func resumed(
        _ site: SyncServer,
        _ server: ExampleServer,
        _ reached: AsyncStream<Int>,
        _ claims: inout Claims
    ) async throws {
        let before = site.requests.count
        let (api, store, interface) = (ContactsAPI(address: server.address), try Store(folder: folder), Interface())
        let failures = Failures()
        let synchronizer = Synchronizer(api: api, store: store, refresh: interface.refresh, report: failures.add)
        try await replacedStoppedAndLiedTo(synchronizer, reached, &claims)
        let requests = site.requests.dropFirst(before)
        let isResumed = requests.first?.after == 20 && requests.allSatisfy { $0.after >= 20 }
        claims.claim("the next process went on at its page", isResumed, "after \(requests.first?.after ?? -1)")
        claims.claim("one sync at a time", api.mostInFlight == 1, "\(api.mostInFlight) request")
        let told = failures.list
        let isTold = told.count == 1 && told[0].contains("\"next\" is 7")
        claims.claim("the lie was found and told", isTold, told.first ?? "")
        let most = store.mostWritersAtOnce
        claims.claim("database writes one at a time", most == 1, "\(most) of \(store.writes)")
        claims.claim("gzip both ways", site.uncompressed == 0, "\(site.requests.count) pages")
        claims.claim("interface refreshed once, at the end", interface.refreshes == 1, "\(interface.refreshes)")
        let stored = try Store(folder: folder, isReader: true).contacts
        let isRight = interface.contacts == site.contacts && stored == site.contacts
        claims.claim("screen, store and server agree", isRight, "\(interface.contacts.count) contacts")
    }

    /// Runs five syncs: the third replaces two and is stopped, the fourth gets an invalid page, and the fifth finishes.
    private func replacedStoppedAndLiedTo(
        _ synchronizer: Synchronizer,
        _ reached: AsyncStream<Int>,
        _ claims: inout Claims
    ) async throws {
        print("\nThis process opens the same store, changes six names and asks for three syncs at once:")
        for number in 1...6 { synchronizer.edit(Change(id: "c\(number)", name: "Changed here \(number)")) }
        let syncs = (1...3).map { _ in synchronizer.sync() }
        let third = Task { try await follow(syncs[2], "third") }
        for await after in reached where after == 40 { break }
        say("everything stops, by broadcast")
        NotificationCenter.default.post(name: Synchronizer.stop, object: nil)
        try await third.value
        try await follow(synchronizer.sync(), "fourth")
        try await follow(synchronizer.sync(), "fifth")
        let ends = syncs.map { $0.cancelReason ?? $0.state.rawValue }
        let isReplaced = ends.prefix(2).allSatisfy { $0.contains("replaced") }
        claims.claim("the latest wins", isReplaced, "2 replaced")
        claims.claim("stopped by broadcast", ends.last == "stopped by broadcast", "in its page after 40")
    }

    /// Prints the changes of a sync until it has ended.
    private func follow(_ sync: ValueOperation<Synchronizer.Summary>, _ name: String) async throws {
        for await change in sync.changes {
            switch change.kind {
            case .progress(let progress):
                say("\(name) sync: has all \(progress.message.replacing("after", with: "up to"))")
            case .state(let state) where state.isTerminal:
                let why = sync.cancelReason.map { ": \($0)" } ?? ""
                say("\(name) sync: \(state.rawValue)\(why)")
            default: break
            }
        }
    }

    private func say(_ line: String) { print("  \(watch.text.padded(to: 7)) \(line)") }
}

/// The errors of failed syncs.
final class Failures: Sendable {
    private let messages = Mutex<[String]>([])

    var list: [String] { messages.withLock { $0 } }

    func add(_ error: any Error) { messages.withLock { $0.append("\(error)") } }
}
