import Crypto
import Foundation
import Glibc
import Operations
import TestSupport
import Testing

@testable import BuiltinOperations
@testable import BrokerModel
@testable import WorkerRuntime

@Suite("download", .timeLimit(.minutes(60)))
final class DownloadTests {
    private let folder: URL
    private let harness = Harness(
        handlers: BuiltinOperations.handlers(allowed: ["download"]).filter { $0.name == "download" }
    )

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "sluice-download-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        harness.start()
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private var files: [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] }

    private func fetch(_ url: String, to name: String = "file", retry: RetryPolicy = .never) async throws -> OperationID
    {
        let path = folder.appending(path: name).path
        return try await harness.broker.put("download", #"{"url":"\#(url)","path":"\#(path)"}"#, retry: retry)
    }

    private func error(_ id: OperationID) async throws -> OperationFailure? {
        let bytes = try await harness.detail(id)?.errors.last?.error ?? []
        return try? JSONDecoder().decode(OperationFailure.self, from: Data(bytes))
    }

    private func body(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) } }

    @Test("A download writes the file and returns size and checksum, with known and unknown length")
    func fetches() async throws {
        let body = body(300_000)
        let server = try TinyServer { path in
            switch path {
            case "/old": [.head("302 Found", "Location: /known")]
            case "/known": [.head("200 OK", "Content-Length: \(body.count)"), .bytes(body)]
            default: [.head("200 OK"), .bytes(body)]
            }
        }
        let sum = SHA256.hash(data: body).map { String(format: "%02x", $0) }.joined()
        for path in ["/known", "/unknown", "/old"] {
            let id = try await fetch(server.url(path), to: "file\(path.dropFirst())")
            #expect(try await harness.reaches(.finished, id))
            let result = try JSONValue(parsing: try await harness.detail(id)?.result ?? [])
            #expect(result["bytes"]?.intValue == body.count && result["sha256"]?.stringValue == sum)
            #expect(result["status"]?.intValue == 200)
        }
        #expect(files.sorted() == ["fileknown", "fileold", "fileunknown"])
        #expect(try Data(contentsOf: folder.appending(path: "fileknown")) == Data(body))
        try await harness.stop()
    }

    @Test("A running download reports its progress")
    func progress() async throws {
        let gate = Latch()
        let body = body(100_000)
        let server = try TinyServer { _ in
            [
                .head("200 OK", "Content-Length: \(2 * body.count)"), .bytes(body), .gate(gate), .bytes(body),
            ]
        }
        let id = try await fetch(server.url("/"))
        let isHalfway = try await comesTrue {
            guard let progress = try await self.harness.detail(id)?.progress else { return false }
            return progress.fraction > 0 && progress.fraction < 1 && progress.message.hasSuffix("of 200.0 kB")
        }
        #expect(isHalfway)
        gate.open()
        #expect(try await harness.reaches(.finished, id))
        #expect(try await harness.detail(id)?.progress?.fraction == 1)
        try await harness.stop()
    }

    @Test(
        "A status that is final ends a download as dead, and a temporary one is retried",
        arguments: [
            ("404 Not Found", 404, OperationState.dead), ("410 Gone", 410, .dead),
            ("429 Too Many Requests", 429, .retrying),
            ("408 Request Timeout", 408, .retrying), ("503 Service Unavailable", 503, .retrying),
            ("304 Not Modified", 304, .dead),
        ]
    )
    func statuses(line: String, status: Int, state: OperationState) async throws {
        let server = try TinyServer { _ in [.head(line, "Content-Length: 0")] }
        let id = try await fetch(server.url("/x"), retry: RetryPolicy(attempts: 2, base: .seconds(60)))
        #expect(try await harness.reaches(state, id))
        let error = try await error(id)
        #expect(error?.type == "http" && error?.details == ["status": status])
        #expect(files.isEmpty)
        try await harness.stop()
    }

    @Test(
        "A download accepts only an answer with the whole file, and leaves an existing file unchanged",
        arguments: [
            ("206 Partial Content", 206, "Content-Range: bytes 0-99/100000"), ("204 No Content", 204, "X: y"),
            ("205 Reset Content", 205, "X: y"), ("201 Created", 201, "X: y"), ("202 Accepted", 202, "X: y"),
        ]
    )
    func incomplete(line: String, status: Int, header: String) async throws {
        let body = status == 206 ? body(100) : []
        let server = try TinyServer { _ in
            [.head(line, header, "Content-Length: \(body.count)"), .bytes(body)]
        }
        try Data([9]).write(to: folder.appending(path: "file"))
        let id = try await fetch(server.url("/x"), retry: RetryPolicy(attempts: 2, base: .seconds(60)))
        #expect(try await harness.reaches(.dead, id))
        #expect(try await error(id)?.details == ["status": status])
        #expect(try Data(contentsOf: folder.appending(path: "file")) == Data([9]))
        #expect(files == ["file"])
        try await harness.stop()
    }

    @Test("A body that is too short fails the attempt and leaves no file; a later attempt may succeed")
    func shortBody() async throws {
        let body = body(5000)
        let tries = Latch()
        let server = try TinyServer { _ in
            let isFirst = tries.open()
            return [
                .head("200 OK", "Content-Length: \(body.count)"), .bytes(isFirst ? Array(body.prefix(1000)) : body),
            ]
        }
        // The next attempt begins only when the test asks for it, because each attempt makes a file.
        let id = try await fetch(server.url("/x"), retry: RetryPolicy(attempts: 2, base: .seconds(600)))
        #expect(try await harness.reaches(.retrying, id))
        #expect(files.isEmpty)
        #expect(try await error(id)?.type == "transfer")
        #expect(try await harness.broker.retry([id], by: "tester", queue: "default") == [.done])
        #expect(try await harness.reaches(.finished, id))
        #expect(try Data(contentsOf: folder.appending(path: "file")) == Data(body))
        try await harness.stop()
    }

    @Test("A cancel ends the transfer and removes the partial file")
    func cancel() async throws {
        let gate = Latch()
        let body = body(50_000)
        let server = try TinyServer { _ in
            [.head("200 OK", "Content-Length: 50000000"), .bytes(body), .gate(gate)]
                + (0..<500).map { _ in .bytes(body) }
        }
        let id = try await fetch(server.url("/x"))
        #expect(await comesTrue { self.files.count == 1 })
        _ = try await harness.cancel(id)
        #expect(try await harness.reaches(.cancelled, id))
        #expect(files.isEmpty)
        gate.open()
        #expect(await comesTrue { server.cutCount == 1 })
        try await harness.stop()
    }

    @Test("An existing file stays unchanged until the new one is complete")
    func replaces() async throws {
        let server = try TinyServer { path in
            path == "/bad"
                ? [.head("200 OK", "Content-Length: 10"), .bytes([1])]
                : [.head("200 OK", "Content-Length: 3"), .bytes([1, 2, 3])]
        }
        try Data([9]).write(to: folder.appending(path: "file"))
        #expect(try await harness.reaches(.dead, try await fetch(server.url("/bad"))))
        #expect(try Data(contentsOf: folder.appending(path: "file")) == Data([9]))
        #expect(try await harness.reaches(.finished, try await fetch(server.url("/good"))))
        #expect(try Data(contentsOf: folder.appending(path: "file")) == Data([1, 2, 3]))
        try await harness.stop()
    }

    private func state(_ name: String, follow: Bool = false) -> stat {
        var state = stat()
        let path = folder.appending(path: name).path
        #expect((follow ? stat(path, &state) : lstat(path, &state)) == 0, "\(name)")
        return state
    }

    private func make(_ kind: mode_t, _ name: String, device: dev_t = 0) -> Bool {
        mknod(folder.appending(path: name).path, kind | 0o600, device) == 0
    }

    @Test("A target that is not a regular file, even through a link, is refused without a request and unchanged")
    func otherTargets() async throws {
        let server = try TinyServer { _ in [.head("200 OK", "Content-Length: 1"), .bytes([1])] }
        #expect(make(S_IFIFO, "fifo") && make(S_IFSOCK, "socket"))
        try FileManager.default.createDirectory(at: folder.appending(path: "folder"), withIntermediateDirectories: true)
        var names = ["fifo", "socket", "folder"]
        // Only root can create a device, and not in every container.
        if make(S_IFCHR, "device", device: 0x103) { names.append("device") }
        for name in names { #expect(symlink(name, folder.appending(path: "to-\(name)").path) == 0) }
        #expect(symlink("/dev/null", folder.appending(path: "null").path) == 0)
        #expect(symlink("loop", folder.appending(path: "loop").path) == 0)
        for name in names + names.map({ "to-" + $0 }) + ["null", "loop"] {
            let before = state(name).st_ino
            let id = try await fetch(server.url("/"), to: name, retry: RetryPolicy(attempts: 2, base: .seconds(60)))
            #expect(try await harness.reaches(.dead, id), "\(name)")
            #expect(try await error(id)?.type == "file", "\(name)")
            #expect(state(name).st_ino == before, "\(name)")
        }
        #expect(server.requests.isEmpty)
        #expect(!files.contains { $0.hasSuffix(".part") })
        try await harness.stop()
    }

    @Test("A download follows links and keeps mode and owner of the replaced file")
    func keepsPlace() async throws {
        let server = try TinyServer { _ in [.head("200 OK", "Content-Length: 3"), .bytes([1, 2, 3])] }
        let store = folder.appending(path: "store")
        try FileManager.default.createDirectory(at: store, withIntermediateDirectories: true)
        let file = store.appending(path: "file")
        try Data([9]).write(to: file)
        #expect(chmod(file.path, 0o2640) == 0)
        let owner: (uid: uid_t, gid: gid_t) = getuid() == 0 ? (1234, 4321) : (getuid(), getgid())
        if getuid() == 0 { #expect(chown(file.path, owner.uid, owner.gid) == 0 && chmod(file.path, 0o2640) == 0) }
        #expect(symlink("store/file", folder.appending(path: "second").path) == 0)
        #expect(symlink("second", folder.appending(path: "first").path) == 0)
        #expect(symlink(store.appending(path: "new").path, folder.appending(path: "dangling").path) == 0)
        for name in ["first", "dangling", "plain"] {
            let id = try await fetch(server.url("/"), to: name)
            let isFinished = try await harness.reaches(.finished, id)
            let error = try await error(id)
            #expect(isFinished, "\(name): \(error?.message ?? "")")
        }
        #expect(state("first").st_mode & S_IFMT == S_IFLNK && state("second").st_mode & S_IFMT == S_IFLNK)
        #expect(state("dangling").st_mode & S_IFMT == S_IFLNK)
        let kept = state("first", follow: true)
        #expect(kept.st_mode == S_IFREG | 0o2640 && kept.st_uid == owner.uid && kept.st_gid == owner.gid)
        for name in ["store/file", "store/new", "plain"] {
            #expect(try Data(contentsOf: folder.appending(path: name)) == Data([1, 2, 3]))
        }
        let mask = umask(0)
        umask(mask)
        #expect(state("plain").st_mode == S_IFREG | (0o644 & ~mask))
        #expect(files.sorted() == ["dangling", "first", "plain", "second", "store"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: store.path).sorted() == ["file", "new"])
        try await harness.stop()
    }

    @Test("A file name of maximum length works in any script")
    func longName() async throws {
        let server = try TinyServer { _ in [.head("200 OK", "Content-Length: 1"), .bytes([1])] }
        let name = String(repeating: "語", count: 85)
        #expect(try await harness.reaches(.finished, try await fetch(server.url("/"), to: name)))
        #expect(files == [name])
        try await harness.stop()
    }

    @Test("A download fails if no server listens or the folder does not exist")
    func nothingThere() async throws {
        let server = try TinyServer { _ in [.head("200 OK", "Content-Length: 0")] }
        let unreachable = try await fetch("http://127.0.0.1:1/")
        #expect(try await harness.reaches(.dead, unreachable))
        #expect(try await error(unreachable)?.type == "transfer")
        let homeless = try await fetch(server.url("/"), to: "no/such/folder")
        #expect(try await harness.reaches(.dead, homeless))
        #expect(try await error(homeless)?.type == "file")
        #expect(server.requests.isEmpty)
        try await harness.stop()
    }

    @Test("A download sends user and password of the URL, and shows the password nowhere")
    func credentials() async throws {
        let server = try TinyServer { path in
            path == "/no" ? [.head("401 Unauthorized", "Content-Length: 0")] : [.head("200 OK", "Content-Length: 0")]
        }
        func address(_ path: String) -> String {
            server.url(path).replacingOccurrences(of: "//", with: "//us%3Aer:p%40ss%2F@")
        }
        let id = try await fetch(address("/yes"))
        #expect(try await harness.reaches(.finished, id))
        let token = Data("us:er:p@ss/".utf8).base64EncodedString()
        #expect(server.requestTexts[0].contains("Authorization: Basic \(token)\r\n"))
        #expect(!String(decoding: try await harness.detail(id)?.result ?? [], as: UTF8.self).contains("p%40ss"))
        let refused = try await fetch(address("/no"))
        #expect(try await harness.reaches(.dead, refused))
        #expect(try await error(refused)?.message.contains("p%40ss") == false)
        try await harness.stop()
    }

    @Test(
        "URLs other than http and https are refused",
        arguments: [
            "file:///etc/passwd", "ftp://h/x", "h/x", "http://", "", "unix:///x",
        ]
    )
    func addresses(url: String) async throws {
        let id = try await fetch(url)
        #expect(try await harness.reaches(.dead, id))
        #expect(try await error(id)?.type == "arguments")
        try await harness.stop()
    }
}
