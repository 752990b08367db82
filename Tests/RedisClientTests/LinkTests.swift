import NIOCore
import RedisClient
import TestSupport
import Testing

@Suite("A link", .timeLimit(.minutes(60)))
struct LinkTests {
    private func killAll(_ server: TestServer) throws {
        try server.ask(RedisCommand("CLIENT", "KILL", "TYPE", "normal"))
    }

    @Test("reconnects with a higher epoch after its connection was killed")
    func reconnect() async throws {
        try await withServer { server in
            try await withLink(server.endpoint) { link in
                try await link.send(RedisCommand("PING"))
                let epoch = link.epoch
                for round in 1...5 {
                    try killAll(server)
                    try await eventually("a new connection") { link.epoch >= epoch + round }
                    #expect(try await link.send(RedisCommand("ECHO", "x")).string == "x")
                }
            }
        }
    }

    @Test("never sends a written call again: its outcome is unknown, and it ran at most once")
    func lostReply() async throws {
        try await withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            defer { proxy.stop() }
            try await withLink(proxy.endpoint) { link in
                try await link.send(RedisCommand("SET", "n", 0))
                proxy.set(.loseReplies(count: 1, marker: "INCR"))
                let error = await redisError { try await link.send(RedisCommand("INCR", "n")) }
                #expect(error?.code == .closed)
                #expect(error?.outcomeIsUnknown == true)
                #expect(proxy.lostReplies == 1)
                #expect(try await link.send(RedisCommand("GET", "n")).int == 1)
            }
        }
    }

    @Test("holds calls while it is down, and sends them in order when it is up")
    func waiting() async throws {
        try await withServer { server in
            try await withLink(server.endpoint) { link in
                try await link.send(RedisCommand("PING"))
                server.crash()
                try await eventually("the loss is noticed") { !link.isConnected }
                let calls = (0..<100).map { link.submit(RedisCommand("RPUSH", "l", $0), deadline: patience) }
                try server.restart()
                for (index, call) in calls.enumerated() { #expect(try await call.get() == .integer(Int64(index + 1))) }
                let order = try await link.send(RedisCommand("LRANGE", "l", 0, -1)).expectArray().map(\.int)
                #expect(order == Array(0..<100))
            }
        }
    }

    @Test("fails a call that waits until its deadline as unreachable, with its attempts")
    func unreachable() async throws {
        let folder = try makeTemporaryFolder()
        try await withLink(.unix(path: folder + "/none.sock")) { link in
            // Until the first attempt has ended, the error gives what it waits for instead of a reason.
            try await eventually("the error gives the reason") {
                let error = await redisError { try await link.send(RedisCommand("PING"), deadline: .milliseconds(400)) }
                #expect(error?.code == .unreachable)
                #expect(error?.outcomeIsUnknown == false)
                #expect(error?.message.contains(/tr(y|ies) in [0-9.]+ s/) == true, "\(error?.message ?? "")")
                return error?.message.contains("No such file") == true
            }
        }
    }

    @Test("notices a silent peer by the command's deadline, and works again when the peer is back")
    func blackhole() async throws {
        try await withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            defer { proxy.stop() }
            try await withLink(proxy.endpoint) { link in
                try await link.send(RedisCommand("PING"))
                proxy.set(.blackhole)
                let error = await redisError { try await link.send(RedisCommand("PING"), deadline: .milliseconds(200)) }
                #expect(error?.code == .timeout)
                proxy.set(.none)
                #expect(try await link.send(RedisCommand("ECHO", "back")).string == "back")
            }
        }
    }

    @Test("survives resets, cuts within a reply and half-closed streams")
    func faults() async throws {
        try await withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            defer { proxy.stop() }
            // An attempt that begins under a fault may get no answer, so it must end soon.
            let configuration = RedisConnectionConfiguration(connectTimeout: .seconds(2), commandDeadline: patience)
            try await withLink(proxy.endpoint, configuration) { link in
                for fault in [FaultProxy.Fault.reset, .cutAfter(replyBytes: 20), .halfClose] {
                    proxy.set(fault)
                    _ = await redisError {
                        try await link.send(
                            RedisCommand("ECHO", [UInt8](repeating: 1, count: 500)),
                            deadline: .seconds(1)
                        )
                    }
                    proxy.set(.none)
                    let reply = try await link.send(RedisCommand("ECHO", "x"))
                    #expect(reply.string == "x", "after \(fault)")
                }
            }
        }
    }

    @Test("leaves a server that became read-only, and reconnects with growing pauses")
    func readOnly() async throws {
        try await withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            defer { proxy.stop() }
            try await withLink(proxy.endpoint) { link in
                try await link.send(RedisCommand("SET", "k", 1))
                try server.ask(RedisCommand("REPLICAOF", "127.0.0.1", 1))
                let epoch = link.epoch
                let error = await redisError { try await link.send(RedisCommand("SET", "k", 2)) }
                #expect(error?.serverError?.code == .readOnly)
                #expect(error?.outcomeIsUnknown == false)
                try await eventually("a new connection") { link.epoch > epoch }
                try server.ask(RedisCommand("REPLICAOF", "NO", "ONE"))
                try await eventually("a write succeeds") {
                    await redisError { try await link.send(RedisCommand("SET", "k", 3)) } == nil
                }
            }
        }
    }

    @Test("answers calls in flight before it leaves a server")
    func readOnlyPipeline() async throws {
        try await withServer { server in
            try await withLink(server.endpoint) { link in
                try await link.send(RedisCommand("PING"))
                try server.ask(RedisCommand("REPLICAOF", "127.0.0.1", 1))
                let calls = (0..<20).map { link.submit(RedisCommand("SET", "k", $0)) }
                for call in calls {
                    let error = await redisError { _ = try await call.get() }
                    #expect(error?.serverError?.code == .readOnly)
                }
            }
        }
    }

    @Test("runs its hook on every connection before any call")
    func hook() async throws {
        try await withServer { server in
            let seen = Counter()
            let link = RedisLink(server.endpoint, configuration: .patient, on: anyLoop(), logger: silent) {
                $0.submit(RedisCommand("RPUSH", "log", "hook")).map { _ in seen.add() }
            }
            defer { link.close() }
            try await link.send(RedisCommand("RPUSH", "log", "call"))
            try killAll(server)
            try await eventually("a second connection") { link.epoch == 2 }
            try await link.send(RedisCommand("RPUSH", "log", "call"))
            let log = try await link.send(RedisCommand("LRANGE", "log", 0, -1)).expectArray().map(\.string)
            #expect(log == ["hook", "call", "hook", "call"])
            #expect(seen.value == 2)
        }
    }

    @Test("fails fast, if configured, when the server refuses the password")
    func failsFast() async throws {
        try await withServer(.init(["requirepass top"])) { server in
            try await withLink(server.endpoint, .init(failsFastWhenRefused: true)) { link in
                let error = await redisError { try await link.send(RedisCommand("PING"), deadline: .seconds(60)) }
                #expect(error?.code == .authentication)
            }
        }
    }

    @Test("fails all waiting, pending and later calls when it is closed")
    func close() async throws {
        try await withLink { link in
            try await link.send(RedisCommand("PING"))
            let blocked = link.submit(RedisCommand("BLPOP", uniqueNamespace(), 30), deadline: .seconds(40))
            link.close()
            let lost = await redisError { _ = try await blocked.get() }
            #expect(lost?.code == .closed)
            let late = await redisError { try await link.send(RedisCommand("PING")) }
            #expect(late?.code == .closed)
        }
    }

    @Test("loses no call and mixes up no reply while its connections are cut repeatedly")
    func storm() async throws {
        try await withServer { server in
            let proxy = try await FaultProxy.start(to: server.endpoint)
            defer { proxy.stop() }
            var configuration = RedisConnectionConfiguration.patient
            configuration.maximumBackoff = .milliseconds(100)
            try await withLink(proxy.endpoint, configuration) { link in
                let answered = Counter()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for task in 0..<8 {
                        group.addTask {
                            var round = 0
                            while link.epoch < 12 {
                                let word = "\(task)-\(round)"
                                round += 1
                                guard let reply = try? await link.send(RedisCommand("ECHO", word)) else { continue }
                                try #require(reply.string == word)
                                answered.add()
                            }
                        }
                    }
                    group.addTask {
                        for _ in 0..<12 where link.epoch < 12 {
                            let before = answered.value
                            let epoch = link.epoch
                            // The tasks end after the twelfth connection.
                            try await eventually { answered.value > before + 30 || link.epoch >= 12 }
                            proxy.resetAll()
                            try await eventually { link.epoch > epoch }
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(answered.value > 300)
            }
        }
    }
}
