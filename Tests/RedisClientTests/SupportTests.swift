import RedisClient
import TestSupport
import Testing

@Suite("The test support", .timeLimit(.minutes(60)))
struct SupportTests {
    @Test("three cluster nodes share the slots, and each key has its owner")
    func cluster() throws {
        let cluster = try TestCluster.start()
        defer { cluster.stop() }
        for index in 0..<20 {
            let key = "{ns/q\(index)}:k"
            let owner = try cluster.node(for: key)
            #expect(try owner.ask(RedisCommand("SET", key, "v"))[0] == .status("OK"))
            for other in cluster.nodes where other !== owner {
                #expect(try other.ask(RedisCommand("GET", key))[0].error?.code == .moved)
            }
        }
        let wide = try cluster.nodes[0].ask(RedisCommand("DEL", "{a}", "{b}", "{c}", "{d}"))[0].error?.code
        #expect(wide == .crossSlot)
    }

    @Test("a server crashes, restarts with its data when it is durable, and stops without a trace")
    func server() async throws {
        let server = try TestServer.start(.durable)
        try server.ask(RedisCommand("SET", "k", "v"))
        try server.restart()
        #expect(try server.ask(RedisCommand("GET", "k"))[0].string == "v")
        server.stop()
        #expect(throws: RedisError.self) { try RedisProbe.ask(server.endpoint, [RedisCommand("PING")]) }
    }

    @Test("a proxy delays replies, loses every second marked reply, and counts")
    func proxy() async throws {
        let proxy = try await FaultProxy.start(to: TestServer.shared.endpoint)
        defer { proxy.stop() }
        proxy.set(.delay(.milliseconds(100)))
        let start = ContinuousClock.now
        try await withConnection(proxy.endpoint) { try await $0.send(RedisCommand("PING")) }
        #expect(ContinuousClock.now - start >= .milliseconds(200))
        proxy.set(.loseReplies(count: 2, skip: 1, marker: "ECHO"))
        try await withLink(proxy.endpoint) { link in
            var lost: [Int] = []
            for index in 0..<6 {
                let error = await redisError { try await link.send(RedisCommand("ECHO", index)) }
                if error != nil { lost.append(index) }
            }
            #expect(lost == [1, 3])
            #expect(proxy.lostReplies == 2)
        }
    }
}
