import RedisClient
import Synchronization

/// The pub/sub connection that all listeners of a broker share.
final class Subscriptions: Sendable {
    enum Signal: Sendable {
        case message(channel: String, payload: [UInt8])
        /// Messages may have been missed: read the state that they hint at.
        case gap
        /// Redis refuses this channel. No message arrives on it until `accepted`.
        case refused(channel: String, error: RedisServerError)
        case accepted(channel: String)
    }

    private struct State {
        var subscriber: RedisSubscriber?
        var pump: Task<Void, Never>?
        var listeners: [Int: Listener] = [:]
        /// The wanted channels that Redis refuses.
        var refused: [String: RedisServerError] = [:]
        var next = 0
        var isClosed = false
    }

    private struct Listener {
        let channels: Set<String>
        let continuation: AsyncStream<Signal>.Continuation
    }

    private let connections: ConnectionFactory
    private let state = Mutex(State())

    init(_ connections: ConnectionFactory) { self.connections = connections }

    /// Listens until the stream is dropped. A `.gap` follows each subscription, from the first one on. `.refused` comes
    /// once for each channel that Redis refuses.
    func listen(_ channels: [String]) -> AsyncStream<Signal> {
        let (stream, continuation) = AsyncStream.makeStream(of: Signal.self, bufferingPolicy: .bufferingNewest(4096))
        let key = add(Listener(channels: Set(channels), continuation: continuation))
        continuation.onTermination = { [weak self] _ in self?.remove(key) }
        return stream
    }

    func close() {
        let (subscriber, listeners) = state.withLock { state in
            state.isClosed = true
            state.pump?.cancel()
            return (state.subscriber, Array(state.listeners.values))
        }
        subscriber?.close()
        for listener in listeners { listener.continuation.finish() }
    }

    private func add(_ listener: Listener) -> Int {
        state.withLock { state in
            state.next += 1
            state.listeners[state.next] = listener
            guard !state.isClosed else {
                listener.continuation.finish()
                return state.next
            }
            let subscriber = state.subscriber ?? connections.subscriber()
            if state.subscriber == nil {
                state.subscriber = subscriber
                state.pump = Task { [weak self] in
                    for await event in subscriber.events { self?.deliver(event) }
                }
            }
            for channel in listener.channels {
                if let error = state.refused[channel] {
                    listener.continuation.yield(.refused(channel: channel, error: error))
                }
            }
            subscriber.subscribe(Array(listener.channels))
            return state.next
        }
    }

    private func remove(_ key: Int) {
        state.withLock { state in
            guard let gone = state.listeners.removeValue(forKey: key) else { return }
            let wanted = state.listeners.values.reduce(into: Set<String>()) { $0.formUnion($1.channels) }
            let unwanted = gone.channels.subtracting(wanted)
            for channel in unwanted { state.refused[channel] = nil }
            if !unwanted.isEmpty { state.subscriber?.unsubscribe(Array(unwanted)) }
        }
    }

    private func deliver(_ event: RedisSubscriber.Event) {
        switch event {
        case .message(let channel, let payload): tell(channel, .message(channel: channel, payload: payload))
        case .subscribed, .overflow: tell(nil, .gap)
        case .refused(let channel, let error):
            tell(channel, .refused(channel: channel, error: error)) { $0[channel] = error }
        case .accepted(let channel): tell(channel, .accepted(channel: channel)) { $0[channel] = nil }
        case .disconnected: break
        }
    }

    /// Sends a signal to the listeners of a channel, or to all listeners.
    private func tell(
        _ channel: String?,
        _ signal: Signal,
        noting note: (inout [String: RedisServerError]) -> Void = { _ in }
    ) {
        let listeners = state.withLock { state in
            let concerned = state.listeners.values.filter { channel.map($0.channels.contains) ?? true }
            if !concerned.isEmpty { note(&state.refused) }
            return concerned
        }
        for listener in listeners { listener.continuation.yield(signal) }
    }
}
