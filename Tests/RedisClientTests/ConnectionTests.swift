import NIOCore
import NIOPosix
import RedisClient
import TestSupport
import Testing

@Suite("A connection", .timeLimit(.minutes(60)))
struct ConnectionTests {
    @Test("answers every kind of reply as its value")
    func replies() async throws {
        try await withConnection { connection in
            let key = uniqueNamespace()
            #expect(try await connection.send(RedisCommand("SET", key, "v")) == .status("OK"))
            #expect(try await connection.send(RedisCommand("GET", key)) == .bytes(Array("v".utf8)))
            #expect(try await connection.send(RedisCommand("GET", key + "none")) == .null)
            #expect(try await connection.send(RedisCommand("APPEND", key, 12)) == .integer(3))
            #expect(try await connection.send(RedisCommand("LRANGE", key + "none", 0, -1)) == .array([]))
            let nested = try await connection.send(RedisCommand("EVAL", "return {1,{'a',{2,false}},'b'}", 0))
            let inner = RedisValue.array([.bytes([97]), .array([.integer(2), .null])])
            #expect(nested == .array([.integer(1), inner, .bytes([98])]))
            try await connection.send(RedisCommand("DEL", key))
        }
    }

    @Test("passes any bytes unchanged, including empty and large values")
    func binary() async throws {
        try await withConnection { connection in
            let key = uniqueNamespace()
            for size in [0, 1, 255, 8_191, 8_192, 70_000, 3_000_000] {
                let value = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
                try await connection.send(RedisCommand("SET", key, value))
                #expect(try await connection.send(RedisCommand("GET", key)) == .bytes(value))
            }
            try await connection.send(RedisCommand("DEL", key))
        }
    }

    @Test("keeps the order of commands that many tasks pipeline")
    func pipelining() async throws {
        try await withConnection { connection in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<50 {
                    group.addTask {
                        for round in 0..<40 {
                            let word = "\(task)/\(round)"
                            let reply = try await connection.send(RedisCommand("ECHO", word))
                            #expect(reply.string == word)
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("leaves error replies of a pipeline in their places")
    func pipelineErrors() async throws {
        try await withConnection { connection in
            let replies = try await connection.send([
                RedisCommand("ECHO", "a"), RedisCommand("NOSUCHCOMMAND"), RedisCommand("ECHO", "b"),
            ])
            #expect(replies.map(\.string) == ["a", nil, "b"])
            #expect(replies[1].error?.code == .other)
            #expect(try await connection.send([]).isEmpty)
        }
    }

    @Test("throws an error reply of a single command with the server's text")
    func errorReply() async throws {
        try await withConnection { connection in
            let error = await redisError { try await connection.send(RedisCommand("NOSUCHCOMMAND")) }
            #expect(error?.code == .server)
            #expect(error?.serverError?.message.contains("unknown command") == true)
            #expect(error?.outcomeIsUnknown == false)
        }
    }

    @Test("serves a thread that blocks on futures with a separate event loop")
    func blockingThread() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let text = try await NIOThreadPool.singleton.runIfActive {
            let connection = try RedisConnection.connect(
                TestServer.shared.endpoint,
                configuration: .patient,
                on: group.next(),
                logger: silent
            ).wait()
            defer { connection.close() }
            return try connection.submit(RedisCommand("ECHO", "from a thread")).wait().string
        }
        #expect(text == "from a thread")
        try await group.shutdownGracefully()
    }

    @Test("is closed when a command misses its deadline, and names that command's deadline")
    func deadline() async throws {
        try await withConnection { connection in
            let key = uniqueNamespace()
            async let slow = redisError {
                try await connection.send(RedisCommand("BLPOP", key, 30), deadline: .milliseconds(100))
            }
            let error = await slow
            #expect(error?.code == .timeout)
            #expect(error?.outcomeIsUnknown == true)
            try await connection.closeFuture.get()
            let late = await redisError { try await connection.send(RedisCommand("PING")) }
            #expect(late?.outcomeIsUnknown == false)
        }
    }

    @Test("fails other calls in flight as closed when one misses its deadline")
    func deadlineOfAnother() async throws {
        try await withConnection { connection in
            let key = uniqueNamespace()
            // Both are submitted in one turn of the event loop, so both are sent before the first misses its deadline.
            let calls = try await connection.eventLoop.submit {
                [
                    connection.submit(RedisCommand("BLPOP", key, 30), deadline: .milliseconds(100)),
                    connection.submit(RedisCommand("PING"), deadline: patience),
                ]
            }.get()
            let missed = await redisError { _ = try await calls[0].get() }
            #expect(missed?.code == .timeout)
            let error = await redisError { _ = try await calls[1].get() }
            #expect(error?.code == .closed)
            #expect(error?.outcomeIsUnknown == true)
        }
    }

    @Test("refuses calls as overloaded beyond its bound, while the async form waits")
    func backPressure() async throws {
        var configuration = RedisConnectionConfiguration.patient
        configuration.maxPendingCommands = 4
        try await withConnection(TestServer.shared.endpoint, configuration) { connection in
            let key = uniqueNamespace()
            let blocked = connection.submit(RedisCommand("BLPOP", key, 0), deadline: patience)
            let queued = (0..<3).map { _ in connection.submit(RedisCommand("PING")) }
            let refused = await redisError { _ = try await connection.submit(RedisCommand("PING")).get() }
            #expect(refused?.code == .overloaded)
            async let waiting = connection.send(RedisCommand("ECHO", "waited"))
            try await withConnection { try await $0.send(RedisCommand("RPUSH", key, "go")) }
            #expect(try await waiting.string == "waited")
            _ = try await blocked.get()
            for future in queued { _ = try await future.get() }
        }
    }

    @Test("bounds the bytes that are pending, but lets one large command pass")
    func byteBound() async throws {
        var configuration = RedisConnectionConfiguration.patient
        configuration.maxPendingBytes = 1_000
        try await withConnection(TestServer.shared.endpoint, configuration) { connection in
            let large = [UInt8](repeating: 7, count: 100_000)
            #expect(try await connection.send(RedisCommand("ECHO", large)) == .bytes(large))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        let reply = try await connection.send(RedisCommand("ECHO", large))
                        #expect(reply.bytes?.count == 100_000)
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("is closed when a reply is larger than allowed")
    func replyTooLarge() async throws {
        var configuration = RedisConnectionConfiguration.patient
        configuration.maxReplyBytes = 10_000
        try await withConnection(TestServer.shared.endpoint, configuration) { connection in
            let script = "return string.rep('x', tonumber(ARGV[1]))"
            let small = try await connection.send(RedisCommand("EVAL", script, 0, 9_000))
            #expect(small.bytes?.count == 9_000)
            let error = await redisError { try await connection.send(RedisCommand("EVAL", script, 0, 50_000)) }
            #expect(error?.code == .replyTooLarge)
            try await connection.closeFuture.get()
        }
    }

    @Test("reports a lost connection as closed with an unknown outcome")
    func killed() async throws {
        try await withConnection { connection in
            let id = try await connection.send(RedisCommand("CLIENT", "ID")).expectInt()
            let blocked = connection.submit(RedisCommand("BLPOP", uniqueNamespace(), 0), deadline: patience)
            try await withConnection { other in
                try await eventually("the server has the command") {
                    let clients = try await other.send(RedisCommand("CLIENT", "LIST")).expectString()
                    return clients.split(separator: "\n").contains {
                        $0.hasPrefix("id=\(id) ") && $0.contains(" cmd=blpop ")
                    }
                }
                try await other.send(RedisCommand("CLIENT", "KILL", "ID", id))
            }
            let error = await redisError { _ = try await blocked.get() }
            #expect(error?.code == .closed)
            #expect(error?.outcomeIsUnknown == true)
        }
    }
}
