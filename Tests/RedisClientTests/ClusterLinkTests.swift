import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import RedisClient

@Suite("A link to a cluster", .serialized, .timeLimit(.minutes(60)))
struct ClusterLinkTests {
    private static let cluster = Task { try TestCluster.start() }

    /// Returns one key for each node.
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
            // A node that lost a script gets it again.
            for node in cluster.nodes { try node.ask(RedisCommand("SCRIPT", "FLUSH"))[0].expectSuccess() }
            for key in keys { #expect(try await link.evaluate(script, keys: [key]).string == key) }
        }
    }

    @Test("asks each part separately")
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

    @Test("follows a moved slot, keeps the order of its calls, and sends nothing twice")
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
                    // The calls run without a pause, and many are in flight until all moves are over.
                    var count = 0
                    var underWay: [EventLoopFuture<RedisValue>] = []
                    while !Task.isCancelled {
                        // A large value between two calls makes the refusals arrive one by one.
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

    @Test("asks the new node for moved keys, and waits while the keys of a call are on two nodes")
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
            // The key is not on the source, so the target creates it.
            #expect(try await link.send(RedisCommand("INCR", there)).int == 1)
            #expect(try await link.evaluate(script, keys: [there]).int == 2)
            #expect(try source.ask(RedisCommand("EXISTS", there))[0].error?.code == .ask)
            let both = RedisCommand("MGET", here, there)
            // If the first answer is late, the call times out.
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

    @Test("A call with a key that never exists does nothing while its slot moves")
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
            // Key b is on the target, and key a is still on the source.
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

    @Test("finds the promoted replica after a master dies, and loses no confirmed write")
    func promoted() async throws {
        let cluster = try TestCluster.start(replicated: true)
        defer { cluster.stop() }
        let keys = try Self.keys(cluster)
        try await withLink(cluster.endpoint) { link in
            for key in keys {
                let server = try cluster.node(for: key)
                // WAIT covers only writes of its own connection.
                try await eventually("the replica has it") {
                    try server.ask(RedisCommand("SET", key, "before"), RedisCommand("WAIT", 1, 1000))[1].int == 1
                }
            }
            let victim = try cluster.node(for: keys[0])
            victim.crash()
            // Calls to the other nodes continue while a call waits for the dead node.
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
        // The URL names only the dead node, but this process knows the others.
        try await withLink(cluster.endpoint) { link in
            let replies = try await link.send(keys.map { RedisCommand("GET", $0) })
            #expect(replies.allSatisfy { $0.string == "after" })
        }
    }

    @Test("reports the keys of an absent node at once, with the node and the reason, until it is back")
    func absences() async throws {
        let cluster = try TestCluster.start(["cluster-require-full-coverage no"])
        defer { cluster.stop() }
        let keys = try Self.keys(cluster)
        try await withLink(cluster.endpointOfAll) { link in
            #expect(try await link.absences(of: keys).allSatisfy { $0 == nil })
            let victim = try cluster.node(for: keys[0])
            let areAway = try keys.map { try cluster.node(for: $0) === victim }
            victim.crash()
            // The first reason is the closed connection, and the next one is the refused attempt.
            try await eventually("the link has noticed, and has tried again") {
                try await link.absences(of: keys)[0]?.error.message.contains("refused") == true
            }
            // A new link waits only for its first attempt.
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

    @Test("A subscriber hears every node, and connects to another node if its own dies")
    func subscriber() async throws {
        let cluster = try TestCluster.start(replicated: true)
        defer { cluster.stop() }
        let subscriber = RedisSubscriber(
            cluster.endpointOfAll,
            configuration: patientSubscriber,
            on: anyLoop(),
            logger: silent
        )
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

    @Test("lists the asked nodes if no node answers, and names the URL for a server that is not a node")
    func nobody() async throws {
        let dead = try freePort()
        let endpoint = try RedisEndpoint(url: "redis+cluster://127.0.0.1:\(dead)")
        // Until the first search has ended, the error gives what it waits for instead of the answers.
        try await withLink(endpoint) { link in
            try await eventually("the asked node is listed") {
                let error = await redisError { try await link.send(RedisCommand("PING"), deadline: .milliseconds(500)) }
                return error?.code == .unreachable && error?.message.contains("127.0.0.1:\(dead): ") == true
            }
        }
        try await withServer(.init(port: freePort())) { server in
            try await withLink(RedisEndpoint(url: "redis+cluster://127.0.0.1:\(server.options.port)")) { link in
                try await eventually("the URL for a server is named") {
                    let error = await redisError {
                        try await link.send(RedisCommand("PING"), deadline: .milliseconds(500))
                    }
                    return error?.message.contains("use redis://") == true
                }
            }
        }
    }

    @Test("names the cluster URL if the endpoint names a node as a single server")
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

    @Test("fails waiting calls when closed, and makes no more connections")
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
