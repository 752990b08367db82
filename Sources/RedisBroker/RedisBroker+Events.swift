import Operations
import RedisClient

extension RedisBroker {
    package func events(queues: [String]) -> AsyncThrowingStream<EventBatch, any Error> {
        let signals = subscriptions.listen(queues.map(keys.events))
        let keys = keys
        return AsyncThrowingStream { continuation in
            let task = Task {
                for await signal in signals {
                    switch signal {
                    case .message(let channel, let payload):
                        guard let queue = keys.queue(of: channel) else { continue }
                        if let batch = EventBatch(queue: queue, payload: payload) { continuation.yield(batch) }
                    case .refused(let channel, let error):
                        return continuation.finish(throwing: refusal(of: channel, error))
                    case .gap, .accepted: break
                    }
                }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }
}

extension EventBatch {
    /// Reads "from to kind=n,… KIND+ID …", the text that `events.lua` writes.
    init?(queue: String, payload: [UInt8]) {
        let words = String(decoding: payload, as: UTF8.self).split(separator: " ")
        guard words.count >= 3, let from = Int64(words[0]), let to = Int64(words[1]) else { return nil }
        var counts: [OperationState: Int] = [:]
        for pair in words[2].split(separator: ",") {
            let parts = pair.utf8.split(separator: UInt8(ascii: "="))
            guard parts.count == 2, let state = parts[0].first.flatMap({ OperationState(code: $0) }) else { continue }
            counts[state] = Int(Substring(parts[1]))
        }
        let transitions = words.dropFirst(3).compactMap { word -> (id: OperationID, state: OperationState)? in
            guard let state = word.utf8.first.flatMap({ OperationState(code: $0) }),
                let id = OperationID(utf8: word.utf8.dropFirst())
            else { return nil }
            return (id, state)
        }
        self.init(queue: queue, from: from, to: to, counts: counts, transitions: transitions)
    }
}
