import Operations
import RedisClient

extension RedisBroker {
    private static let eventsBuffered = 10_000

    package func events(queues: [String]) -> AsyncThrowingStream<EventBatch, any Error> {
        let signals = subscriptions.listen(queues.map(keys.events))
        let keys = keys
        // A slow reader loses the oldest events, and notices a gap in the numbers.
        return AsyncThrowingStream(bufferingPolicy: .bufferingNewest(Self.eventsBuffered)) { continuation in
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

extension RedisBroker {
    package func storedEvents(
        queue: String,
        after cursor: String?,
        agoMilliseconds: Int64,
        limit: Int
    ) async throws -> StoredEvents {
        var arguments = arguments(queue)
        arguments.append(cursor ?? "")
        arguments.append(max(0, agoMilliseconds))
        arguments.append(min(max(limit, 1), SluiceDefaults.batch))
        return try StoredEvents(try await read(.storedEvents, arguments), queue)
    }
}

extension StoredEvents {
    fileprivate init(_ reply: RedisValue, _ queue: String) throws(OperationsError) {
        guard let fields = reply.array, fields.count >= 4, let time = fields[0].int, let newest = fields[1].int else {
            throw OperationsError(.malformed, "the list of events has an unknown form; run: sluice doctor")
        }
        let pairs = Array(fields.dropFirst(4))
        self.init(
            time: Int64(time),
            newest: Int64(newest),
            trimmedBefore: (fields[2].int ?? 0) < Self.kept ? nil : Self.time(of: fields[3].string ?? ""),
            entries: pairs.chunks(of: 2).compactMap { Entry(Array($0), queue) },
            cursor: pairs.dropLast().last?.string
        )
    }

    /// The id of an entry begins with its time in milliseconds.
    fileprivate static func time(of entry: String) -> Int64? { entry.split(separator: "-").first.flatMap { Int64($0) } }
}

extension StoredEvents.Entry {
    fileprivate init?(_ fields: [RedisValue], _ queue: String) {
        guard fields.count == 2, let cursor = fields[0].string, let text = fields[1].bytes,
            let batch = EventBatch(queue: queue, payload: text)
        else { return nil }
        self.init(cursor: cursor, at: StoredEvents.time(of: cursor) ?? 0, batch: batch)
    }
}

extension EventBatch {
    /// Reads the text of `events.lua`: "from to kind=n,… oID KIND+ID … | VERB BY COUNT DETAIL". The id after `o` names
    /// a change's only operation. Only some texts have this id and the last part.
    init?(queue: String, payload: [UInt8]) {
        let text = String(decoding: payload, as: UTF8.self)
        let end = text.firstRange(of: " | ")
        let words = text[..<(end?.lowerBound ?? text.endIndex)].split(separator: " ")
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
        if words.count > 3, words[3].utf8.first == UInt8(ascii: "o") {
            subject = OperationID(utf8: words[3].utf8.dropFirst())
        }
        change = end.flatMap { QueueChange(stored: text[$0.upperBound...]) }
    }
}

extension QueueChange {
    fileprivate init?(stored text: Substring) {
        let words = text.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
        guard words.count == 4, let verb = Verb(rawValue: words[0]), let count = Int(words[2]) else { return nil }
        self.init(verb, by: words[1], count: count, detail: words[3])
    }
}
