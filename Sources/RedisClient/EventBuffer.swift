import NIOCore
import Synchronization

/// The bounded buffer between a subscriber and the one reader of its events. A full buffer replaces its content by one
/// `overflow` and the last event about the connection. After an `overflow`, the reader has to read the state itself.
final class EventBuffer: Sendable {
    typealias Event = RedisSubscriber.Event

    private struct State {
        var events = CircularBuffer<Event>()
        var reader: CheckedContinuation<Event?, Never>?
        var isFinished = false
    }

    private let capacity: Int
    private let state = Mutex(State())

    init(capacity: Int) {
        precondition(capacity >= 2, "a subscriber buffers at least two events")
        self.capacity = capacity
    }

    func put(_ event: Event) {
        let reader = state.withLock { state -> CheckedContinuation<Event?, Never>? in
            guard !state.isFinished else { return nil }
            if let reader = state.reader {
                state.reader = nil
                return reader
            }
            if state.events.count >= capacity { state.events = Self.overflowed(state.events) }
            state.events.append(event)
            return nil
        }
        reader?.resume(returning: event)
    }

    func next() async -> Event? {
        await withCheckedContinuation { continuation in
            let event: Event?? = state.withLock { state in
                if let event = state.events.popFirst() { return event }
                if state.isFinished || Task.isCancelled { return .some(nil) }
                precondition(state.reader == nil, "a subscriber's events have one reader")
                state.reader = continuation
                return nil
            }
            if let event { continuation.resume(returning: event) }
        }
    }

    func finish() {
        state.withLock { $0.isFinished = true }
        wakeReader()
    }

    /// Ends the wait of a cancelled reader.
    func wakeReader() {
        let reader = state.withLock { state in
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(returning: nil)
    }

    private static func overflowed(_ events: CircularBuffer<Event>) -> CircularBuffer<Event> {
        let connection = events.last { event in
            switch event {
            case .subscribed, .disconnected: true
            default: false
            }
        }
        return CircularBuffer([.overflow] + (connection.map { [$0] } ?? []))
    }
}
