import EmbeddedRedis
import Foundation
import RedisClient
import TestSupport
import Testing

@Suite("The embedded server", .serialized, .timeLimit(.minutes(60)))
struct EmbeddedTests {
    /// Runs the body with a server in a separate folder, and stops the server at the end.
    ///
    /// The suite is serialized, so that its blocking calls hold at most one of the threads that other tests need.
    private func withEmbedded(
        in directory: String? = nil,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        _ body: (EmbeddedRedis) throws -> Void
    ) throws {
        let redis = EmbeddedRedis(
            directory: try directory ?? makeTemporaryFolder(),
            environment: environment,
            patience: patience
        )
        defer { _ = try? redis.stop() }
        try body(redis)
    }

    private func value(_ redis: EmbeddedRedis, _ command: RedisCommand) throws -> RedisValue {
        try RedisProbe.ask(redis.endpoint, [command], timeout: patience)[0].expectSuccess()
    }

    @Test("starts on first use, is adopted afterwards, and stops without leaving a socket or a process")
    func life() throws {
        try withEmbedded { redis in
            #expect(try redis.status() == nil)
            #expect(try redis.stop() == false)
            let started = try redis.start()
            #expect(started.startedNow)
            #expect(started.version.contains("."))
            #expect(started.socketPath == redis.socketPath)
            let adopted = try redis.start()
            #expect(!adopted.startedNow)
            #expect(adopted.pid == started.pid)
            #expect(try redis.status()?.pid == started.pid)
            #expect(try redis.stop())
            #expect(access(redis.socketPath, F_OK) != 0)
            #expect(kill(started.pid, 0) != 0)
            #expect(try redis.status() == nil)
        }
    }

    @Test("is private: folder and socket for this user only, no TCP port, no eviction, append-only file each second")
    func settings() throws {
        try withEmbedded { redis in
            _ = try redis.start()
            for path in [redis.directory, redis.socketPath] {
                var info = stat()
                #expect(lstat(path, &info) == 0)
                #expect(info.st_mode & 0o777 == 0o700, "\(path)")
            }
            for (name, expected) in [
                ("port", "0"), ("appendonly", "yes"), ("appendfsync", "everysec"), ("maxmemory-policy", "noeviction"),
            ] {
                #expect(try value(redis, RedisCommand("CONFIG", "GET", name)).array?.last?.string == expected)
            }
        }
    }

    @Test("refuses a folder that others may write to, and links or other objects in place of its files")
    func planted() throws {
        let open = try makeTemporaryFolder()
        #expect(chmod(open, 0o777) == 0)
        let refusal = #expect(throws: EmbeddedRedisError.self) { try EmbeddedRedis(directory: open).start() }
        #expect(
            refusal?.code == .folder && refusal?.message.contains("chmod 700") == true,
            "\(String(describing: refusal))"
        )
        let target = try makeTemporaryFolder() + "/target"
        for name in ["redis.log", "redis.conf", "server.lock", "start.lock", "appendonlydir", "redis.sock", "dump.rdb"]
        {
            let folder = try makeTemporaryFolder()
            #expect(symlink(target, folder + "/" + name) == 0)
            let error = #expect(throws: EmbeddedRedisError.self) { try EmbeddedRedis(directory: folder).start() }
            #expect(
                error?.code == .folder && error?.message.contains("a link") == true,
                "\(name): \(String(describing: error))"
            )
            #expect(access(target, F_OK) != 0, "\(name) was followed")
        }
    }

    @Test("lives in a session of its own, so that Ctrl-C of the first command does not stop it")
    func session() throws {
        try withEmbedded { redis in
            let status = try redis.start()
            #expect(getsid(status.pid) == status.pid)
        }
    }

    @Test("is started once by many commands at the same time")
    func race() throws {
        try withEmbedded { redis in
            let found = Counter()
            let started = Counter()
            let running = DispatchGroup()
            for _ in 0..<6 {
                running.enter()
                Thread {
                    defer { running.leave() }
                    if let status = try? redis.start() {
                        found.add()
                        if status.startedNow { started.add() }
                    }
                }
                .start()
            }
            running.wait()
            #expect(found.value == 6)
            #expect(started.value == 1)
        }
    }

    @Test("keeps its data after a crash and after a stop, and replaces the socket of a dead server")
    func durability() throws {
        try withEmbedded { redis in
            let first = try redis.start()
            _ = try value(redis, RedisCommand("SET", "k", "v"))
            kill(first.pid, SIGKILL)
            #expect(access(redis.socketPath, F_OK) == 0)
            let second = try redis.start()
            #expect(second.startedNow)
            #expect(second.pid != first.pid)
            #expect(try value(redis, RedisCommand("GET", "k")).string == "v")
            #expect(try redis.stop())
            _ = try redis.start()
            #expect(try value(redis, RedisCommand("GET", "k")).string == "v")
        }
    }

    @Test("is not started twice in one folder, even if its socket was removed")
    func lostSocket() throws {
        try withEmbedded { redis in
            let status = try redis.start()
            let spare = redis.socketPath + ".spare"
            rename(redis.socketPath, spare)
            defer { rename(spare, redis.socketPath) }
            #expect { try redis.start() } throws: { error in
                (error as? EmbeddedRedisError)?.code == .notAnswering && "\(error)".contains(redis.directory)
            }
            #expect(kill(status.pid, 0) == 0)
        }
    }

    @Test("uses a short path for the socket when the folder's path is too long")
    func longPath() throws {
        let base = try makeTemporaryFolder()
        let long = base + "/" + String(repeating: "x", count: 120)
        var environment = ProcessInfo.processInfo.environment
        environment["XDG_RUNTIME_DIR"] = base
        try withEmbedded(in: long, environment: environment) { redis in
            #expect(redis.socketPath.utf8.count <= 100)
            #expect(redis.socketPath.hasPrefix(base))
            let status = try redis.start()
            #expect(status.directory == long)
            #expect(try redis.stop())
        }
        var tooLong = environment
        tooLong["XDG_RUNTIME_DIR"] = long
        tooLong["TMPDIR"] = nil
        #expect(EmbeddedRedis(directory: long, environment: tooLong).socketPath.hasPrefix("/tmp/sluice-"))
    }

    @Test("finds its folder by SLUICE_STATE_DIR, then XDG_STATE_HOME, then the home folder")
    func folders() {
        func folder(_ environment: [String: String]) -> String { EmbeddedRedis(environment: environment).directory }
        #expect(folder(["SLUICE_STATE_DIR": "/s", "XDG_STATE_HOME": "/x", "HOME": "/h"]) == "/s/redis")
        #expect(folder(["XDG_STATE_HOME": "/x", "HOME": "/h"]) == "/x/sluice/redis")
        #expect(folder(["XDG_STATE_HOME": "relative", "HOME": "/h"]) == "/h/.local/state/sluice/redis")
        #expect(folder(["HOME": "/h"]) == "/h/.local/state/sluice/redis")
    }

    @Test("explains how to get redis-server if it is missing, and names a wrong SLUICE_REDIS_SERVER")
    func missing() throws {
        for (environment, words) in [
            (["PATH": "/nowhere"], "apt-get install redis-server"),
            (["PATH": "/usr/bin", "SLUICE_REDIS_SERVER": "/no/redis"], "SLUICE_REDIS_SERVER is /no/redis"),
        ] {
            try withEmbedded(environment: environment) { redis in
                #expect { try redis.start() } throws: { error in
                    (error as? EmbeddedRedisError)?.code == .serverMissing && "\(error)".contains(words)
                }
            }
        }
    }

    @Test("does not mistake a folder for the program, and continues to search PATH")
    func folderInPath() throws {
        let base = try makeTemporaryFolder()
        try FileManager.default.createDirectory(atPath: base + "/redis-server", withIntermediateDirectories: true)
        var environment = ProcessInfo.processInfo.environment
        environment["PATH"] = base + ":" + (environment["PATH"] ?? "/usr/bin")
        try withEmbedded(environment: environment) { redis in
            let status = try redis.start()
            #expect(status.startedNow)
        }
        try withEmbedded(environment: ["SLUICE_REDIS_SERVER": base + "/redis-server"]) { redis in
            #expect { try redis.start() } throws: { ($0 as? EmbeddedRedisError)?.code == .serverMissing }
        }
    }

    @Test("neither replaces nor removes a foreign file", arguments: ["redis.conf", "redis.sock"])
    func foreignFiles(name: String) throws {
        let base = try makeTemporaryFolder()
        #expect(symlink("/dev/null", base + "/" + name) == 0)
        try withEmbedded(in: base) { redis in
            #expect { try redis.start() } throws: { error in
                (error as? EmbeddedRedisError)?.code == .folder && "\(error)".contains(name)
            }
        }
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: base + "/" + name) == "/dev/null")
    }

    @Test("reports the end of its log when it cannot start")
    func brokenData() throws {
        try withEmbedded { redis in
            _ = try redis.start()
            _ = try value(redis, RedisCommand("SET", "k", "v"))
            #expect(try redis.stop())
            let folder = redis.directory + "/appendonlydir"
            for name in try FileManager.default.contentsOfDirectory(atPath: folder) where name.hasSuffix(".manifest") {
                try "garbage\n".write(toFile: folder + "/" + name, atomically: true, encoding: .utf8)
            }
            #expect { try redis.start() } throws: { error in
                (error as? EmbeddedRedisError)?.code == .startFailed && "\(error)".contains("AOF")
            }
        }
    }

    @Test("refuses a file in place of its folder")
    func badFolder() throws {
        let base = try makeTemporaryFolder()
        try "x".write(toFile: base + "/file", atomically: true, encoding: .utf8)
        try withEmbedded(in: base + "/file") { redis in
            #expect { try redis.start() } throws: { ($0 as? EmbeddedRedisError)?.code == .folder }
        }
    }
}
