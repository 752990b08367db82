import RedisClient
import TestSupport
import Testing

@Suite("A subscriber", .timeLimit(.minutes(60)))
struct SubscriberTests {
    typealias Event = RedisSubscriber.Event

    private func withSubscriber(
        _ endpoint: RedisEndpoint = TestServer.shared.endpoint,
        _ configuration: RedisConnectionConfiguration = patientSubscriber,
        bufferedEvents: Int = 4_096,
        _ body: (RedisSubscriber, inout AsyncStream<Event>.AsyncIterator) async throws -> Void
    ) async throws {
        let subscriber = RedisSubscriber(
            endpoint,
            configuration: configuration,
            on: anyLoop(),
            bufferedEvents: bufferedEvents,
            logger: silent
        )
        defer { subscriber.close() }
        var events = subscriber.events.makeAsyncIterator()
        try await body(subscriber, &events)
    }

    @Test("delivers messages of its channels after it has reported the subscription")
    func messages() async throws {
        try await withSubscriber { subscriber, events in
            let channel = uniqueNamespace()
            subscriber.subscribe([channel, channel + "b"])
            #expect(await events.next() == .subscribed(epoch: 1))
            for payload in ["", "hello", "\0\r\n"] {
                try TestServer.shared.ask(RedisCommand("PUBLISH", channel, payload))
                #expect(await events.next() == .message(channel: channel, payload: Array(payload.utf8)))
            }
            subscriber.subscribe([channel])
            #expect(await events.next() == .subscribed(epoch: 1))
        }
    }

    @Test("receives nothing from a channel that it left")
    func unsubscribe() async throws {
        try await withSubscriber { subscriber, events in
            let channel = uniqueNamespace()
            subscriber.subscribe([channel, channel + "b"])
            #expect(await events.next() == .subscribed(epoch: 1))
            subscriber.unsubscribe([channel])
            try await eventually("the server knows it") {
                try TestServer.shared.ask(RedisCommand("PUBSUB", "NUMSUB", channel))[0].array?.last?.int == 0
            }
            try TestServer.shared.ask(
                RedisCommand("PUBLISH", channel, "no"),
                RedisCommand("PUBLISH", channel + "b", "yes")
            )
            #expect(await events.next() == .message(channel: channel + "b", payload: Array("yes".utf8)))
        }
    }

    @Test("subscribes again each time its connection is killed")
    func killed() async throws {
        try await withServer { server in
            var configuration = patientSubscriber
            configuration.maximumBackoff = .milliseconds(100)
            try await withSubscriber(server.endpoint, configuration) { subscriber, events in
                subscriber.subscribe(["a", "b"])
                #expect(await events.next() == .subscribed(epoch: 1))
                for epoch in 2...11 {
                    try server.ask(RedisCommand("CLIENT", "KILL", "TYPE", "pubsub"))
                    #expect(await events.next() == .disconnected)
                    #expect(await events.next() == .subscribed(epoch: epoch))
                    try server.ask(RedisCommand("PUBLISH", "b", epoch))
                    #expect(await events.next() == .message(channel: "b", payload: Array("\(epoch)".utf8)))
                }
            }
        }
    }

    @Test("reconnects after a restart of the server")
    func restart() async throws {
        try await withServer { server in
            try await withSubscriber(server.endpoint) { subscriber, events in
                subscriber.subscribe(["a"])
                #expect(await events.next() == .subscribed(epoch: 1))
                try server.restart()
                #expect(await events.next() == .disconnected)
                #expect(await events.next() == .subscribed(epoch: 2))
            }
        }
    }

    @Test("notices a vanished peer by its own PING")
    func halfOpen() async throws {
        try await withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            defer { proxy.stop() }
            let configuration = RedisConnectionConfiguration(
                connectTimeout: .seconds(5),
                pingInterval: .milliseconds(100),
                pingDeadline: .seconds(1)
            )
            try await withSubscriber(proxy.endpoint, configuration) { subscriber, events in
                subscriber.subscribe(["a"])
                let isUp = await skip(&events, to: Self.isSubscription)
                #expect(isUp)
                proxy.set(.blackhole)
                let isDown = await skip(&events) { $0 == .disconnected }
                #expect(isDown)
                proxy.set(.none)
                let isUpAgain = await skip(&events, to: Self.isSubscription)
                #expect(isUpAgain)
            }
        }
    }

    /// Skips events up to a wanted one. With a short deadline, a stall of the machine looks like a vanished peer, and
    /// adds events.
    ///
    /// - Returns: false if the events have ended.
    private func skip(
        _ events: inout AsyncStream<Event>.AsyncIterator,
        to isWanted: (Event) -> Bool
    ) async -> Bool {
        while let event = await events.next() {
            if isWanted(event) { return true }
        }
        return false
    }

    private static func isSubscription(_ event: Event) -> Bool {
        if case .subscribed = event { true } else { false }
    }

    @Test("keeps an idle connection alive by PING")
    func idle() async throws {
        try await withServer { server in
            let configuration = RedisConnectionConfiguration(pingInterval: .milliseconds(20), pingDeadline: .seconds(3))
            try await withSubscriber(server.endpoint, configuration) { subscriber, events in
                subscriber.subscribe(["a"])
                #expect(await events.next() == .subscribed(epoch: 1))
                try await eventually("four PINGs") {
                    let stats = try server.info("cmdstat_ping") ?? ""
                    return (stats.firstMatch(of: /calls=(\d+)/).flatMap { Int($0.1) } ?? 0) > 4
                }
                try server.ask(RedisCommand("PUBLISH", "a", "still here"))
                #expect(await events.next() == .message(channel: "a", payload: Array("still here".utf8)))
            }
        }
    }

    @Test("reports an overflow instead of growing, and continues")
    func overflow() async throws {
        try await withServer { server in
            try await withSubscriber(server.endpoint, bufferedEvents: 100) { subscriber, events in
                subscriber.subscribe(["a"])
                #expect(await events.next() == .subscribed(epoch: 1))
                // If the test takes the first event early, later messages find room again, and the test tries once
                // more.
                try await eventually("one overflow, and at most what there is room for") {
                    for _ in 0..<350 { try server.ask(RedisCommand("PUBLISH", "a", "x")) }
                    try server.ask(RedisCommand("PUBLISH", "a", "last"))
                    var (overflows, messages) = (0, 0)
                    while let event = await events.next() {
                        if event == .overflow { overflows += 1 }
                        guard case .message(_, let payload) = event else { continue }
                        messages += 1
                        if payload == Array("last".utf8) { break }
                    }
                    return overflows == 1 && messages <= 100
                }
            }
        }
    }

    @Test("reports a channel that the access control list refuses")
    func refused() async throws {
        try await withServer(.init(["user u on >p ~* resetchannels &ok +@all"])) { server in
            var endpoint = server.endpoint
            (endpoint.user, endpoint.password) = ("u", "p")
            try await withSubscriber(endpoint) { subscriber, events in
                subscriber.subscribe(["secret", "ok"])
                guard case .refused(let channel, let error) = await events.next() else {
                    Issue.record("expected a refusal")
                    return
                }
                #expect(channel == "secret")
                #expect(error.code == .noPermission)
                #expect(await events.next() == .subscribed(epoch: 1))
            }
        }
    }

    @Test("ends its events when it is closed")
    func close() async throws {
        try await withSubscriber { subscriber, events in
            subscriber.close()
            #expect(await events.next() == nil)
        }
    }
}
