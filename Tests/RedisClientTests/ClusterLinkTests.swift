import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import RedisClient

@Suite("A link to a cluster", .serialized, .timeLimit(.minutes(60)))
struct ClusterLinkTests {
    private static let cluster = Task { try TestCluster.start() }

    /// One key on each node.
    private static func keys(_ cluster: TestCluster) throws -> [String] {
        let prefix = uniqueNamespace("k")
        var keys: [Int32: String] = [:]
        for number in 0..<1000 where keys.count < 3 {
            let key = "{\(prefix)\(number)}"
            keys[try cluster.node(for: key).pid] = key
        }
        return Array(keys.values)
    }

    @Test("reaches every key from one node, one by one, in a pipeline and by script")
    func everyKey() async throws {
        let cluster = try await Self.cluster.value
        let script = RedisScript(name: "get", source: "return redis.call('GET', KEYS[1])")
        try await withLink(cluster.endpoint) { link in
            let keys = (0..<40).map { "\(uniqueNamespace())\($0)" }
            for key in keys.prefix(20) { try await link.send(RedisCommand("SET", key, key)) }
            let replies = try await link.send(keys.dropFirst(20).map { RedisCommand("SET", $0, $0) })
            #expect(replies.allSatisfy { $0 == .status("OK") })
            for key in keys { #expect(try await link.evaluate(script, keys: [key]).string == key) }
            let read = try await link.send(keys.map { RedisCommand("GET", $0) } + [RedisCommand("LPUSH", keys[0], "x")])
            #expect(read.dropLast().map(\.string) == keys)
            #expect(read.last?.error?.code == .wrongType)
            #expect(try await link.parts().count == 3)
            // A script that a node has forgotten is loaded again there.
            for node in cluster.nodes { try node.ask(RedisCommand("SCRIPT", "FLUSH"))[0].expectSuccess() }
            for key in keys { #expect(try await link.evaluate(script, keys: [key]).string == key) }
        }
    }

    @Test("asks each part for itself")
    func parts() async throws {
        let cluster = try await Self.cluster.value
        try await withLink(cluster.endpoint) { link in
            var ports: Set<String> = []
            for part in try await link.parts() {
                let info = try await link.send(RedisCommand("INFO", "server"), to: part).expectString()
                ports.insert(try #require(info.firstMatch(of: /tcp_port:(\d+)/)).1.description)
                let port = try #require(part.name?.split(separator: ":").last)
                #expect(ports.contains(String(port)))
            }
            #expect(ports == Set(cluster.nodes.map { "\($0.options.port)" }))
        }
    }

    @Test("follows a slot that has moved, keeps the order of its calls, and sends nothing twice")
    func moved() async throws {
        let cluster = try await Self.cluster.value
        let key = try Self.keys(cluster)[0]
        let source = try cluster.node(for: key)
        let target = try #require(cluster.nodes.first { $0 !== source })
        let slot = try cluster.slot(of: key)
        let much = String(repeating: "x", count: 50_000)
        try await withLink(cluster.endpoint) { link in
            let calls = try await withThrowingTaskGroup(of: Int.self) { group in
                group.addTask {
                    // Without pause, many under way at any time, until all moves are over.
                    var count = 0
                    var underWay: [EventLoopFuture<RedisValue>] = []
                    while !Task.isCancelled {
                        // Much between two of them, so that refusals come one by one.
                        underWay.append(link.submit(RedisCommand("SET", key + "much", much)))
                        underWay.append(link.submit(RedisCommand("RPUSH", key, count)))
                        count += 1
                        while underWay.count > 100 { _ = try await underWay.removeFirst().get() }
                    }
                    for reply in underWay { _ = try await reply.get() }
                    return count
                }
                for move in 0..<10 {
                    let (one, other) = move % 2 == 0 ? (source, target) : (target, source)
                    let before = try await link.send(RedisCommand("LLEN", key)).expectInt()
                    try cluster.move(slot: slot, from: one, to: other)
                    try await eventually("the link goes on") {
                        try await link.send(RedisCommand("LLEN", key)).expectInt() > before + 200
                    }
                }
                group.cancelAll()
                return try await group.next() ?? 0
            }
            let list = try await link.send(RedisCommand("LRANGE", key, 0, -1)).expectArray()
            #expect(list.compactMap(\.int) == Array(0..<calls))
        }
    }

    @Test("asks the new node for what has moved already, and waits where keys are here and there")
    func moving() async throws {
        let cluster = try await Self.cluster.value
        let tag = try Self.keys(cluster)[0]
        let source = try cluster.node(for: tag)
        let target = try #require(cluster.nodes.first { $0 !== source })
        let slot = try cluster.slot(of: tag)
        let (here, there) = ("\(tag)here", "\(tag)there")
        let script = RedisScript(name: "incr", source: "return redis.call('INCR', KEYS[1])")
        try await withLink(cluster.endpoint) { link in
            try await link.send(RedisCommand("SET", here, 1))
            try cluster.beginMove(slot: slot, from: source, to: target)
            #expect(try await link.send(RedisCommand("INCR", here)).int == 2)
            // Not here: it is made there.
            #expect(try await link.send(RedisCommand("INCR", there)).int == 1)
            #expect(try await link.evaluate(script, keys: [there]).int == 2)
            #expect(try source.ask(RedisCommand("EXISTS", there))[0].error?.code == .ask)
            let both = RedisCommand("MGET", here, there)
            // A first answer that is late is a time-out.
            try await eventually("both are on their way") {
                let error = await redisError { try await link.send(both, deadline: .milliseconds(400)) }
                return error?.code == .unreachable && error?.outcomeIsUnknown == false
                    && error?.message.contains("TRYAGAIN") == true
            }
            async let waiting = link.send(both)
            while try cluster.moveKeys(slot: slot, from: source, to: target, count: 10) > 0 {}
            try cluster.endMove(slot: slot, from: source, to: target)
            #expect(try await waiting.array?.map(\.int) == [2, 2])
            try cluster.move(slot: slot, from: target, to: source)
            #expect(try await link.send(both).array?.map(\.int) == [2, 2])
        }
    }

    @Test("A call that names a key that never exists does nothing while its slot is on its way")
    func guarded() async throws {
        let cluster = try await Self.cluster.value
        let tag = try Self.keys(cluster)[0]
        let source = try cluster.node(for: tag)
        let target = try #require(cluster.nodes.first { $0 !== source })
        let slot = try cluster.slot(of: tag)
        let script = RedisScript(
            name: "two",
            source: """
                redis.call('INCR', KEYS[1])
                return redis.call('INCR', string.sub(KEYS[1], 1, -2) .. 'b')
                """
        )
        try await withLink(cluster.endpoint) { link in
            let call = { try await link.evaluate(script, keys: ["\(tag)a", "\(tag)never"]) }
            #expect(try await call().int == 1)
            try cluster.beginMove(slot: slot, from: source, to: target)
            // b is there, a still here.
            var move = RedisCommand("MIGRATE", "127.0.0.1", target.options.port, "\(tag)b", 0, 60000)
            try source.ask(move)[0].expectSuccess()
            try await eventually("the call waits for the end of the move") {
                let early = await redisError {
                    try await link.evaluate(script, keys: ["\(tag)a", "\(tag)never"], deadline: .milliseconds(300))
                }
                return early?.code == .unreachable
            }
            move = RedisCommand("MIGRATE", "127.0.0.1", target.options.port, "\(tag)a", 0, 60000)
            try source.ask(move)[0].expectSuccess()
            async let waiting = call()
            try cluster.endMove(slot: slot, from: source, to: target)
            #expect(try await waiting.int == 2)
            #expect(try await link.send(RedisCommand("GET", "\(tag)a")).int == 2)
            try cluster.move(slot: slot, from: target, to: source)
        }
    }

    @Test("finds the replica that was promoted when a master has died, and loses nothing that was confirmed")
    func promoted() async throws {
        let cluster = try TestCluster.start(replicated: true)
        defer { cluster.stop() }
        let keys = try Self.keys(cluster)
        try await withLink(cluster.endpoint) { link in
            for key in keys {
                let server = try cluster.node(for: key)
                // WAIT is about what its own connection wrote.
                try await eventually("the replica has it") {
                    try server.ask(RedisCommand("SET", key, "before"), RedisCommand("WAIT", 1, 1000))[1].int == 1
                }
            }
            let victim = try cluster.node(for: keys[0])
            victim.crash()
            // The others are not disturbed meanwhile, whatever waits for the dead one.
            async let waiting = link.send(RedisCommand("GET", keys[0]), deadline: patience)
            for key in keys.dropFirst() {
                _ = try? await link.send(RedisCommand("GET", key), deadline: .seconds(1))
            }
            #expect(try await waiting.string == "before")
            for key in keys {
                try await link.send(RedisCommand("SET", key, "after"), deadline: patience)
                #expect(try await link.send(RedisCommand("GET", key)).string == "after")
            }
        }
        // The dead one is the only node of the URL: this process knows the others.
        try await withLink(cluster.endpoint) { link in
            let replies = try await link.send(keys.map { RedisCommand("GET", $0) })
            #expect(replies.allSatisfy { $0.string == "after" })
        }
    }

    @Test("Keys of a node that is away are named with it and the reason, at once; the others are not; then none is")
    func absences() async throws {
        let cluster = try TestCluster.start(["cluster-require-full-coverage no"])
        defer { cluster.stop() }
        let keys = try Self.keys(cluster)
        try await withLink(cluster.endpointOfAll) { link in
            #expect(try await link.absences(of: keys).allSatisfy { $0 == nil })
            let victim = try cluster.node(for: keys[0])
            let areAway = try keys.map { try cluster.node(for: $0) === victim }
            victim.crash()
            // The first reason is the connection that ended, the next one the try that was refused.
            try await eventually("the link has noticed, and has tried again") {
                try await link.absences(of: keys)[0]?.error.message.contains("refused") == true
            }
            // A link that has tried nothing yet waits for its first try only.
            try await withLink(cluster.endpointOfAll) { fresh in
                for link in [link, fresh] {
                    for (isAway, absence) in zip(areAway, try await link.absences(of: keys)) {
                        #expect(absence?.node == (isAway ? "127.0.0.1:\(victim.options.port)" : nil))
                        #expect(absence?.error.message.contains("refused") == (isAway ? true : nil))
                    }
                }
            }
            try victim.restart()
            try await eventually("it is back") { try await link.absences(of: keys).allSatisfy { $0 == nil } }
        }
    }

    @Test("A subscriber hears every node, and finds another node when its own dies")
    func subscriber() async throws {
        let cluster = try TestCluster.start(replicated: true)
        defer { cluster.stop() }
        let subscriber = RedisSubscriber(cluster.endpointOfAll, on: anyLoop(), logger: silent)
        defer { subscriber.close() }
        subscriber.subscribe(["news"])
        var events = subscriber.events.makeAsyncIterator()
        #expect(await events.next() == .subscribed(epoch: 1))
        for (index, node) in cluster.nodes.enumerated() {
            try node.ask(RedisCommand("PUBLISH", "news", "\(index)"))[0].expectSuccess()
            #expect(await events.next() == .message(channel: "news", payload: Array("\(index)".utf8)))
        }
        for node in cluster.nodes + cluster.replicas {
            guard try node.ask(RedisCommand("PUBSUB", "NUMSUB", "news"))[0].array?.last?.int == 1 else { continue }
            node.crash()
        }
        #expect(await events.next() == .disconnected)
        #expect(await events.next() == .subscribed(epoch: 2))
    }

    @Test("says who was asked when no node answers, and which URL a server wants that is no node")
    func nobody() async throws {
        let dead = try freePort()
        let endpoint = try RedisEndpoint(url: "redis+cluster://127.0.0.1:\(dead)")
        let error = await redisError {
            try await withLink(endpoint) { _ = try await $0.send(RedisCommand("PING"), deadline: .milliseconds(500)) }
        }
        #expect(error?.code == .unreachable)
        #expect(error?.message.contains("127.0.0.1:\(dead): ") == true)
        try await withServer(.init(port: freePort())) { server in
            let url = "redis+cluster://127.0.0.1:\(server.options.port)"
            let error = await redisError {
                try await withLink(RedisEndpoint(url: url)) {
                    _ = try await $0.send(RedisCommand("PING"), deadline: .milliseconds(500))
                }
            }
            #expect(error?.message.contains("use redis://") == true)
        }
    }

    @Test("A node that is taken for the only server says which URL to use")
    func plain() async throws {
        let cluster = try await Self.cluster.value
        let key = try Self.keys(cluster)[0]
        let wrong = try #require(cluster.nodes.first { try $0 !== cluster.node(for: key) })
        try await withLink(wrong.tcpEndpoint) { link in
            let error = await redisError { try await link.send(RedisCommand("GET", key)) }
            #expect(error?.serverError?.code == .moved)
            #expect(error?.message.contains("use redis+cluster://") == true)
        }
    }

    @Test("closed, fails what waits and makes no connection any more")
    func closed() async throws {
        let cluster = try await Self.cluster.value
        let key = uniqueNamespace()
        try await withLink(cluster.endpoint) { link in
            try await link.send(RedisCommand("PING"))
            let blocked = link.submit(RedisCommand("BLPOP", key, "30"), deadline: patience)
            try await eventually("it waits") {
                try cluster.node(for: key).info("blocked_clients") == "1"
            }
            link.close()
            #expect((await redisError { _ = try await blocked.get() })?.code == .closed)
            #expect((await redisError { try await link.send(RedisCommand("PING")) })?.code == .closed)
        }
    }
}
