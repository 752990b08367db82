import NIOCore
import NIOPosix
import RedisClient
import Synchronization

/// The heartbeat's own thread, event loop and connection. Nothing here touches Swift's cooperative pool.
final class HeartbeatConnection: Sendable {
    private struct Open {
        let group: MultiThreadedEventLoopGroup
        let link: RedisLink
    }

    private let connections: ConnectionFactory
    private let open = Mutex<Open?>(nil)
    private let isClosed = Atomic<Bool>(false)

    init(_ connections: ConnectionFactory) { self.connections = connections }

    /// Sends a script. The calling thread may wait for the reply.
    /// - Parameter deadline: nil uses the deadline of all commands.
    func evaluate(
        _ script: RedisScript,
        _ arguments: RedisArguments,
        deadline: Duration? = nil
    ) throws -> EventLoopFuture<RedisValue> {
        try link().submit(script, tail: arguments, deadline: deadline)
    }

    /// Sends commands in one go and returns their replies. Blocks the calling thread.
    func send(_ commands: [RedisCommand]) throws -> [RedisValue] { try link().submit(commands).wait() }

    func close() {
        isClosed.store(true, ordering: .releasing)
        let closing = open.withLock { open in
            defer { open = nil }
            return open
        }
        closing?.link.close()
        closing?.group.shutdownGracefully { _ in }
    }

    private func link() throws(RedisError) -> RedisLink {
        // A heartbeat that outlives the broker must not open a connection that no call would close.
        guard !isClosed.load(ordering: .acquiring) else { throw RedisError(.closed, "the heartbeat was ended") }
        return open.withLock { open in
            if let open { return open.link }
            let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
            let link = connections.link("heartbeat", on: group.next(), connections.configuration.commandDeadline)
            open = Open(group: group, link: link)
            return link
        }
    }
}
