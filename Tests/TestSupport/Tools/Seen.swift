import Synchronization

/// Notes about the state that the condition of a wait reads.
///
/// A wait that gives up prints the last notes. A change counts as progress. Functions of the tests that read a state
/// call ``note(_:)``, which does nothing outside of a wait.
public enum Seen {
    @TaskLocal static var sightings: Sightings?

    /// - Parameter text: computed only within a wait.
    public static func note(_ text: @autoclosure () -> String) {
        sightings?.add(text())
    }

    /// Runs a body whose readings do not count as progress of a wait.
    public static func ignoring<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        try await $sightings.withValue(nil, operation: body)
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

    /// Returns whether the last check read other values than the one before.
    func haveChanged() -> Bool {
        state.withLock { state in
            defer { (state.last, state.current) = (state.current, []) }
            return state.current != state.last
        }
    }
}
