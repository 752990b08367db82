import RedisClient
import TestSupport
import Testing

@Suite("An error reply", .timeLimit(.minutes(60)))
struct ErrorTests {
    @Test(
        "is classified by its first word or by the word that a script's command raised",
        arguments: [
            ("READONLY You can't write against a read only replica.", RedisServerError.Code.readOnly),
            ("LOADING Redis is loading the dataset in memory", .loading),
            ("MASTERDOWN Link with MASTER is down", .masterDown),
            ("NOAUTH Authentication required.", .noAuth),
            ("WRONGPASS invalid username-password pair or user is disabled.", .wrongPass),
            ("ERR invalid password", .wrongPass),
            ("NOPERM this user has no permissions to run the 'get' command", .noPermission),
            ("OOM command not allowed when used memory > 'maxmemory'.", .outOfMemory),
            ("OOM command not allowed when used memory > 'maxmemory'. script: 5f, on @user_script:1.", .outOfMemory),
            (
                "ERR Error running script (call to f_5f): @user_script:1: @user_script: 1: -OOM command not allowed",
                .outOfMemory
            ),
            (
                "ERR Error running script (call to f_5f): @user_script:1: -READONLY You can't write against a replica.",
                .readOnly
            ),
            ("ERR The user executing the script can't run this command or subcommand script: 5f", .noPermission),
            ("NOSCRIPT No matching script. Please use EVAL.", .noScript),
            ("BUSY Redis is busy running a script.", .busy),
            ("BUSYGROUP Consumer Group name already exists", .busyGroup),
            ("MOVED 3999 127.0.0.1:6381", .moved),
            ("ASK 3999 127.0.0.1:6381", .ask),
            ("CROSSSLOT Keys in request don't hash to the same slot", .crossSlot),
            ("CLUSTERDOWN The cluster is down", .clusterDown),
            ("TRYAGAIN Multiple keys request during rehashing of slot", .tryAgain),
            ("UNBLOCKED force unblock from blocking operation", .unblocked),
            ("NOREPLICAS Not enough good replicas to write.", .noReplicas),
            ("MISCONF Redis is configured to save RDB snapshots", .misconfigured),
            ("ERR max number of clients reached", .tooManyClients),
            ("WRONGTYPE Operation against a key holding the wrong kind of value", .wrongType),
            ("ERR unknown command 'X', with args beginning with: 'a-OK'", .other),
            ("", .other),
        ]
    )
    func classification(message: String, code: RedisServerError.Code) {
        #expect(RedisServerError(message: message).code == code)
    }

    @Test("of a real server without memory is classified, also inside a script")
    func outOfMemory() async throws {
        try await withServer { server in
            try server.ask(RedisCommand("CONFIG", "SET", "maxmemory", 1))
            try await withConnection(server.endpoint) { connection in
                let script = "return redis.call('SET', KEYS[1], 'v')"
                for command in [RedisCommand("SET", "k", "v"), RedisCommand("EVAL", script, 1, "k")] {
                    let error = await redisError { try await connection.send(command) }
                    #expect(error?.serverError?.code == .outOfMemory)
                }
            }
        }
    }

    @Test("of the wrong type is an error with the expected and the actual type")
    func expectations() {
        #expect(throws: RedisError.self) { try RedisValue.null.expectInt() }
        #expect(throws: RedisError.self) { try RedisValue.integer(1).expectArray() }
        #expect(throws: RedisError.self) { try RedisValue.bytes(Array("12a".utf8)).expectInt() }
        #expect(throws: Never.self) { try RedisValue.bytes(Array("-12".utf8)).expectInt("n") }
        let error = RedisValue.error(RedisServerError(message: "NOPERM no"))
        #expect { try error.expectString() } throws: { ($0 as? RedisError)?.code == .permission }
    }

    @Test(
        "that is a decimal number in a bulk string counts as an integer, within 64 bits",
        arguments: [
            ("0", 0), ("-0", 0), ("9223372036854775807", Int.max), ("-9223372036854775808", Int.min),
            ("9223372036854775808", nil), ("-9223372036854775809", nil), ("", nil), ("-", nil), ("1 ", nil),
        ] as [(String, Int?)]
    )
    func decimals(text: String, value: Int?) {
        #expect(RedisValue.bytes(Array(text.utf8)).int == value)
    }
}
