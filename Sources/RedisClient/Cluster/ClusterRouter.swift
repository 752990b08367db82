import NIOCore

/// Passes each call to the link of the node that has its slot. If that node refuses the call in favor of another one,
/// sends it there.
///
/// A command that is answered with MOVED, ASK, TRYAGAIN or CLUSTERDOWN was not executed. Calls about one slot keep
/// their order. After the first such answer, later calls are held until all sent calls of the slot have been answered.
///
/// Sendable because all its state is used on one event loop only.
final class ClusterRouter: @unchecked Sendable {
    typealias Host = RedisEndpoint.Host
    typealias MakeLink = (RedisEndpoint, _ onChange: @escaping @Sendable (RedisError?) -> Void) -> RedisLink

    /// A link, and how many calls it has.
    private struct Node {
        let link: RedisLink
        var calls = 0
    }

    private(set) var map: SlotMap
    private let connector: RedisConnector
    private let eventLoop: any EventLoop
    private var makeLink: MakeLink?
    private var changed: ((Bool) -> Void)?
    private var nodes: [Host: Node] = [:]
    /// The number of unanswered calls, by slot.
    private var underWay: [UInt16: Int] = [:]
    private var turns: [UInt16: SlotTurn] = [:]
    /// Callers that wait until the first try to reach a node has ended.
    private var arrivals: [Host: [EventLoopPromise<RedisError?>]] = [:]
    private var isAsking = false
    /// The map may be outdated: something happened since it was requested.
    private var isDoubtful = false
    private var end: RedisError?

    /// - Parameters:
    ///   - makeLink: makes the link to a node.
    ///   - changed: called with true while any node is connected, whenever a connection is made or lost.
    init(
        _ map: SlotMap,
        connector: RedisConnector,
        on eventLoop: any EventLoop,
        makeLink: @escaping MakeLink,
        changed: @escaping (Bool) -> Void
    ) {
        self.map = map
        self.connector = connector
        self.eventLoop = eventLoop
        self.makeLink = makeLink
        self.changed = changed
    }

    // MARK: Calls

    func perform(_ submission: Submission, from queue: CommandQueue) {
        eventLoop.assertInEventLoop()
        if let end {
            queue.release(commands: submission.replyCount, bytes: submission.weight)
            return submission.sink.fail(end)
        }
        guard case .pipeline(let commands) = submission.payload else {
            return send(RoutedCall(submission, queue))
        }
        let gathering = PipelineGathering(submission, queue)
        for (index, command) in commands.enumerated() {
            let sink = Submission.Sink.callback { gathering.take($0, at: index) }
            let part = Submission(
                payload: .command(command),
                sink: sink,
                near: submission.near,
                deadline: submission.deadline
            )
            send(RoutedCall(part, nil))
        }
    }

    private func send(_ call: RoutedCall) {
        guard let slot = call.slot, turns[slot] != nil else { return dispatch(call) }
        turns[slot]?.held.append(call)
    }

    private func dispatch(_ call: RoutedCall) {
        guard let host = target(of: call) else {
            // The map has no node for this slot: request the map again, and keep the call for a retry.
            guard let slot = call.slot else { return call.fail(noNode) }
            refresh()
            refuse(call, .later(noNode), slot)
            return resume(slot)
        }
        let link = link(to: host)
        nodes[host]?.calls += 1
        if let slot = call.slot { underWay[slot, default: 0] += 1 }
        link.queue.enqueue(
            Submission(
                payload: call.payload,
                sink: call.payload.sink { self.answered(call, by: host, $0) },
                deadline: call.submission.deadline
            ),
            mayWait: true
        )
    }

    private func target(of call: RoutedCall) -> Host? {
        if let other = call.asking { return other }
        if let slot = call.slot { return map[slot] }
        let hosts = map.parts.map(\.host)
        // A node that was not tried yet is better than one that cannot be reached.
        return hosts.first { nodes[$0]?.link.isConnected == true } ?? hosts.filter { nodes[$0] == nil }.randomElement()
            ?? hosts.randomElement()
    }

    private var noNode: RedisError {
        RedisError(.unreachable, "no cluster node serves the slot of the key", endpoint: connector.endpoint.description)
    }

    // MARK: Answers

    private func answered(_ call: RoutedCall, by host: Host, _ result: Result<RedisValue, RedisError>) {
        nodes[host]?.calls -= 1
        let refusal = Refusal(result, from: host)
        guard let slot = call.slot else {
            if case .lookAgain? = refusal, end == nil { return dispatch(call) }
            return call.settle(result, endpoint: host)
        }
        underWay[slot, default: 1] -= 1
        if let refusal, end == nil { refuse(call, refusal, slot) } else { call.settle(result, endpoint: host) }
        if underWay[slot] == 0 {
            underWay[slot] = nil
            resume(slot)
        }
    }

    private func refuse(_ call: RoutedCall, _ refusal: Refusal, _ slot: UInt16) {
        switch refusal {
        case .elsewhere(.moved(let slot, let host)):
            map.assign(slot, to: host)
            refresh()
        case .later(let error) where error.serverError?.code != .tryAgain: refresh()
        default: break
        }
        turns[slot, default: SlotTurn()].take(call, refusal)
    }

    /// Sends the refused calls again, then the held ones, once no call of the slot is unanswered.
    private func resume(_ slot: UInt16) {
        guard let turn = turns[slot], underWay[slot] == nil, !turn.isPausing else { return }
        guard let pause = turn.pause(random: .random(in: 0..<1)) else { return finish(slot) }
        turns[slot]?.isPausing = true
        eventLoop.assumeIsolated().scheduleTask(in: pause) { self.finish(slot) }
    }

    private func finish(_ slot: UInt16) {
        guard let turn = turns.removeValue(forKey: slot) else { return }
        let now = NIODeadline.now()
        for call in turn.calls {
            if let end { call.fail(end) } else if let late = call.lateness(now) { call.fail(late) } else { send(call) }
        }
    }

    // MARK: Nodes

    private func link(to host: Host) -> RedisLink {
        if let node = nodes[host] { return node.link }
        guard let makeLink else { preconditionFailure("a router that was closed makes no links") }
        let link = makeLink(connector.endpoint.at(host)) { [weak self] error in self?.nodeChanged(host, error) }
        nodes[host] = Node(link: link)
        return link
    }

    /// The node of a slot without a connection, and why the last try to connect failed; nil if the node is connected.
    /// Waits for the end of the first try.
    func absence(of slot: UInt16) -> EventLoopFuture<(node: String, error: RedisError)?> {
        guard end == nil, let host = map[slot] else {
            return eventLoop.makeSucceededFuture((node: "no node", error: end ?? noNode))
        }
        let link = link(to: host)
        if link.isConnected { return eventLoop.makeSucceededFuture(nil) }
        if let error = link.lastFailure { return eventLoop.makeSucceededFuture((node: "\(host)", error: error)) }
        let arrival = eventLoop.makePromise(of: RedisError?.self)
        arrivals[host, default: []].append(arrival)
        return arrival.futureResult.map { error in error.map { (node: "\(host)", error: $0) } }
    }

    private func endArrivals(at host: Host, _ error: RedisError?) {
        for arrival in arrivals.removeValue(forKey: host) ?? [] { arrival.succeed(error) }
    }

    private func nodeChanged(_ host: Host, _ error: RedisError?) {
        guard end == nil else { return }
        endArrivals(at: host, error)
        changed?(nodes.contains { $0.value.link.isConnected })
        guard error != nil else { return }
        // A call that any node can serve may go to another one.
        nodes[host]?.link.queue.failHeld(Refusal.signal)
        refresh()
    }

    /// Reads the map of slots. If something changes meanwhile, reads it once more.
    private func refresh() {
        guard end == nil else { return }
        if isAsking {
            isDoubtful = true
            return
        }
        (isAsking, isDoubtful) = (true, false)
        ClusterSearch(connector, on: eventLoop).run().assumeIsolated().whenComplete { result in
            self.isAsking = false
            if case .success(let found) = result {
                found.connection.close()
                self.adopt(found.map)
            }
            if self.isDoubtful { self.refresh() }
        }
    }

    private func adopt(_ new: SlotMap) {
        guard end == nil else { return }
        let isNew = new != map
        map = new
        let current = Set(new.parts.map(\.host))
        for (host, node) in nodes {
            let isGone = !current.contains(host)
            // Calls that wait there for a connection may belong to another node by now.
            if isNew || isGone, !node.link.isConnected { node.link.queue.failHeld(Refusal.signal) }
            guard isGone, nodes[host]?.calls == 0 else { continue }
            nodes[host] = nil
            node.link.close()
            endArrivals(at: host, noNode)
        }
    }

    func close(_ error: RedisError) {
        guard end == nil else { return }
        end = error
        for node in nodes.values { node.link.close() }
        for host in arrivals.keys { endArrivals(at: host, error) }
        nodes = [:]
        for slot in turns.keys { finish(slot) }
        (makeLink, changed) = (nil, nil)
    }
}
