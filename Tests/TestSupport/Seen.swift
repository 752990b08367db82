import RedisClient
import Synchronization

/// Notes of a wait about the state that its condition reads. A wait that gives up prints the last notes; a change counts as progress.
///
/// Functions of the tests that read a state call ``note(_:)``. Outside of a wait this does nothing.
package enum Seen {
    @TaskLocal static var sightings: Sightings?

    /// - Parameter text: computed in a wait only.
    package static func note(_ text: @autoclosure () -> String) {
        sightings?.add(text())
    }

    /// Runs a body whose readings are no progress of a wait.
    package static func ignoring<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        try await $sightings.withValue(nil, operation: body)
    }

    /// The same for replies of Redis. Long ones, such as INFO and CLIENT LIST, have numbers that change by themselves, which is no progress.
    static func note(replies: [RedisValue]) {
        guard sightings != nil else { return }
        let text = "\(replies)"
        if text.count <= 200 { note(text) }
    }
}

/// The notes of one wait.
final class Sightings: Sendable {
    private struct State {
        var current: [String] = []
        var last: [String] = []
    }

    private static let longestNote = 1500
    private let state = Mutex(State())

    var last: [String] { state.withLock(\.last) }

    func add(_ text: String) {
        let note = text.count > Self.longestNote ? "… " + text.suffix(Self.longestNote) : text
        state.withLock { $0.current.append(note) }
    }

    /// Whether the look that has just ended read something else than the one before.
    func haveChanged() -> Bool {
        state.withLock { state in
            defer { (state.last, state.current) = (state.current, []) }
            return state.current != state.last
        }
    }
}
