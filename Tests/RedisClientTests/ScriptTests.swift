import NIOCore
import RedisClient
import TestSupport
import Testing

@Suite("A script", .timeLimit(.minutes(60)))
struct ScriptTests {
    private static let push = RedisScript(name: "push", source: "return redis.call('RPUSH', KEYS[1], ARGV[1])")
    private static let add = RedisScript(name: "add", source: "return redis.call('INCRBY', KEYS[1], ARGV[1])")
    private static let fail = RedisScript(name: "fail", source: "return redis.error_reply('ERR on purpose')")

    @Test("is run by its digest, with keys and arguments, encoded or not")
    func evaluate() async throws {
        try await withLink { link in
            let key = uniqueNamespace()
            #expect(try await link.evaluate(Self.add, keys: [key], arguments: [5]) == .integer(5))
            var tail = RedisArguments(keys: [key])
            tail.append(7)
            #expect(try await link.evaluate(Self.add, tail: tail) == .integer(12))
            #expect(try await link.submit(Self.add, tail: tail).get() == .integer(19))
            let error = await redisError { try await link.evaluate(Self.fail, keys: []) }
            #expect(error?.serverError?.message.contains("on purpose") == true)
            try await link.send(RedisCommand("DEL", key))
        }
    }

    @Test("is assembled and loaded by its first call, once for all connections, and only then")
    func firstCall() async throws {
        try await withServer { server in
            let called = RedisScript(name: "called", source: "return 7")
            let other = RedisScript(name: "other", source: "return 8")
            for _ in 0..<2 {
                try await withLink(server.endpoint) { link in
                    try await link.send(RedisCommand("PING"))
                    #expect(try await link.evaluate(called, keys: []) == .integer(7))
                    #expect(try await link.evaluate(called, keys: []) == .integer(7))
                }
            }
            #expect(called.isMade && !other.isMade)
            let info = try server.ask(RedisCommand("INFO", "commandstats"))[0].string ?? ""
            #expect(info.firstMatch(of: /cmdstat_script\|load:calls=(\d+)/)?.1 == "1")
            // The first call was refused.
            #expect(info.firstMatch(of: /cmdstat_evalsha:calls=(\d+)/)?.1 == "5")
        }
    }

    @Test("that the server rejects fails with the reason of the server")
    func unloadable() async throws {
        try await withLink { link in
            let script = RedisScript(name: "broken", source: "return (")
            for _ in 0..<2 {
                let error = await redisError { try await link.evaluate(script, keys: []) }
                #expect(error?.message.contains("Error compiling script") == true, "\(error as Any)")
            }
            // The connection still works.
            try await link.send(RedisCommand("PING"))
        }
    }

    @Test(
        "that the server forgot is loaded again under pipelined load, without losses and in order"
    )
    func flushUnderLoad() async throws {
        try await withServer { server in
            try await withLink(server.endpoint) { link in
                let count = 4_000
                var calls: [EventLoopFuture<RedisValue>] = []
                async let flushing: Void = {
                    for _ in 0..<20 { try server.ask(RedisCommand("SCRIPT", "FLUSH")) }
                }()
                for index in 0..<count {
                    let call = link.submit(Self.push, keys: ["l"], arguments: [index])
                    calls.append(call)
                    // Sometimes an answer is awaited, so that flushes fall between calls of one pipeline.
                    if index % 200 == 199 { _ = try await call.get() }
                }
                try await flushing
                for call in calls { _ = try await call.get() }
                let order = try await link.send(RedisCommand("LRANGE", "l", 0, -1)).expectArray().map(\.int)
                #expect(order == Array(0..<count))
            }
        }
    }

    @Test("that is refused within a pipeline is repeated in order with the calls behind it")
    func flushInsidePipeline() async throws {
        try await withServer { server in
            try await withLink(server.endpoint) { link in
                try await link.send(RedisCommand("PING"))
                var calls: [EventLoopFuture<RedisValue>] = []
                for round in 0..<50 {
                    calls.append(link.submit(Self.push, keys: ["l"], arguments: [round * 2]))
                    if round % 10 == 5 { calls.append(link.submit(RedisCommand("SCRIPT", "FLUSH"))) }
                    calls.append(link.submit(Self.push, keys: ["l"], arguments: [round * 2 + 1]))
                    calls.append(link.submit(Self.add, keys: ["n"], arguments: [1]))
                }
                for call in calls { _ = try await call.get() }
                let order = try await link.send(RedisCommand("LRANGE", "l", 0, -1)).expectArray().map(\.int)
                #expect(order == Array(0..<100))
                #expect(try await link.send(RedisCommand("GET", "n")).int == 50)
            }
        }
    }

    @Test("survives a restart of the server")
    func restart() async throws {
        try await withServer { server in
            try await withLink(server.endpoint) { link in
                #expect(try await link.evaluate(Self.add, keys: ["n"], arguments: [1]) == .integer(1))
                try server.restart()
                try await eventually("the link is up again") { link.epoch >= 2 }
                #expect(try await link.evaluate(Self.add, keys: ["n"], arguments: [1]) == .integer(1))
            }
        }
    }

    @Test("that may not be loaded fails with that reason, and works once it may")
    func loadForbidden() async throws {
        try await withServer { server in
            try server.ask(RedisCommand("ACL", "SETUSER", "limited", "on", ">pw", "~*", "+@all"))
            var endpoint = server.endpoint
            (endpoint.user, endpoint.password) = ("limited", "pw")
            try await withLink(endpoint) { link in
                try await link.evaluate(Self.add, keys: ["n"], arguments: [1])
                try server.ask(RedisCommand("ACL", "SETUSER", "limited", "-script"), RedisCommand("SCRIPT", "FLUSH"))
                for _ in 0..<2 {
                    let error = await redisError { try await link.evaluate(Self.add, keys: ["n"], arguments: [1]) }
                    #expect(error?.serverError?.code == .noPermission)
                }
                try server.ask(RedisCommand("ACL", "SETUSER", "limited", "+script"))
                #expect(try await link.evaluate(Self.add, keys: ["n"], arguments: [1]) == .integer(2))
            }
        }
    }
}
