import Logging
import NIOCore
import NIOPosix
import Operations
import RedisClient
import Synchronization

/// A broker in Redis, with one typed call per script.
///
/// Has up to four connections: commands, heartbeat (with a thread of its own), wake-up tokens and pub/sub. The last
/// three open at their first use, so a producer has one. In a cluster, commands and heartbeat have one connection for
/// each node in use, and wake-up tokens have one for each queue.
package final class RedisBroker: Broker, SpreadBroker {
    package let namespace: String
    let keys: Keys
    let scripts: ScriptLibrary
    let link: RedisLink
    let heartbeat: HeartbeatConnection
    let wakeUps: WakeUpTokens
    let subscriptions: Subscriptions
    let confirmations: Confirmations
    let ledger = CallLedger()
    let commits: CommitBatch
    package let configuration: RedisBrokerConfiguration
    package var endpoint: RedisEndpoint { link.endpoint }
    package let isSpread: Bool
    let logger: Logger
    private let registered = Mutex<Set<String>>([])
    /// Commands of audits that Redis has refused to this user.
    let forbidden = Mutex<Set<String>>([])
    /// Whether the namespace has the protocol of this program.
    let knowsProtocol = Atomic<Bool>(false)
    /// Whether the warning about slow waits was reported.
    private let hasWarnedOfSlowWaits = Atomic<Bool>(false)
    /// False after `close()`.
    let isOpen = Atomic<Bool>(true)

    /// Connects at the first call; calls wait for the connection until their deadline.
    package init(
        _ endpoint: RedisEndpoint,
        configuration: RedisBrokerConfiguration = RedisBrokerConfiguration(),
        logger: Logger
    ) {
        self.configuration = configuration
        self.logger = logger
        isSpread = endpoint.isCluster
        commits = CommitBatch(patience: configuration.commandDeadline)
        namespace = configuration.namespace
        keys = Keys(namespace: configuration.namespace, database: endpoint.database)
        scripts = ScriptLibrary(testClock: configuration.testClock, edit: configuration.scriptEdit)
        let connections = ConnectionFactory(endpoint: endpoint, configuration: configuration, logger: logger)
        link = connections.link(
            "commands",
            on: configuration.eventLoopGroup.any(),
            configuration.commandDeadline
        )
        heartbeat = HeartbeatConnection(connections)
        wakeUps = WakeUpTokens(connections, keys: keys, commands: link)
        subscriptions = Subscriptions(connections)
        confirmations = Confirmations(connections)
    }

    /// Waits until Redis answers, and refuses a namespace with another protocol.
    ///
    /// In a cluster, any node may answer. The node with the protocol number may be unreachable, so the number is
    /// checked when the list of queues is read.
    ///
    /// - Parameter patience: how long to try; nil = as long as for any call.
    /// - Throws: `OperationsError` with `.unavailable`, `.denied` or `.untrusted` and the attempts in its message, or
    ///   with `.incompatible`.
    package func connect(within patience: Duration? = nil) async throws {
        var commands = [RedisCommand("PING")]
        if !isSpread { commands.append(NamespaceProtocol.question(namespace: namespace)) }
        try await translated {
            let answers = try await link.send(commands, deadline: patience)
            try answers[0].expectSuccess()
            if answers.count > 1 { try checkFirstLook(answers[1]) }
        }
    }

    /// Closes all connections. Calls under way fail.
    package func close() {
        isOpen.store(false, ordering: .releasing)
        link.close()
        heartbeat.close()
        wakeUps.close()
        subscriptions.close()
        confirmations.close()
    }

    /// Reports once that waits notice the end of an operation only by reading its state from time to time.
    func warnOfSlowWaits(_ error: OperationsError) {
        guard !hasWarnedOfSlowWaits.exchange(true, ordering: .relaxed) else { return }
        if let report = configuration.onSlowWaits { return report(error) }
        logger.warning(
            "waits notice the end of an operation up to \(Self.rereadInterval) late",
            metadata: ["error": "\(error)"]
        )
    }

    /// Reports that Redis does not answer a wait. The wait continues.
    func reportOutage(_ error: OperationsError) {
        if let report = configuration.onOutage { return report(error) }
        logger.warning("Redis does not answer; the wait goes on", metadata: ["error": "\(error)"])
    }

    /// Adds a queue to the namespace's list, once per process, before its first use.
    func register(_ queue: String) async throws {
        guard !isRegistered(queue) else { return }
        try NameRule.check(queue, role: "queue")
        do {
            try await add(queue)
        } catch let error as OperationsError where error.code == .full {
            // A full server accepts no new name. A worker may still start if the list has the queue already.
            guard try await queues().contains(queue) else { throw error }
        }
        _ = registered.withLock { $0.insert(queue) }
    }

    /// Retries after a lost answer, as an enqueue does. Adding a queue twice is harmless.
    private func add(_ queue: String) async throws {
        let deadline = ContinuousClock.now + configuration.enqueuePatience
        while true {
            do {
                try await requireProtocol(isWriting: true)
                return try await translated { try await link.send(adding(queue)).expectSuccess() }
            } catch let error as OperationsError where error.code == .outcomeUnknown {
                if ContinuousClock.now >= deadline || Task.isCancelled { throw error }
                try? await Task.sleep(for: .milliseconds(50))
            }
        }
    }

    private func adding(_ queue: String) -> RedisCommand { RedisCommand("SADD", keys.queues, queue) }

    func isRegistered(_ queue: String) -> Bool { registered.withLock { $0.contains(queue) } }

    /// Does the work of `register` on the heartbeat's thread. Blocks the thread.
    func registerBlocking(_ queue: String) throws {
        guard !isRegistered(queue) else { return }
        try NameRule.check(queue, role: "queue")
        do {
            try requireProtocolBlocking()
            try heartbeat.send([adding(queue)])[0].expectSuccess()
        } catch let error as RedisError where error.serverError?.code == .outOfMemory {
            // As in `register`: a full server accepts no new name, and may not have stored the protocol number.
            let known = try? heartbeat.send([RedisCommand("SMEMBERS", keys.queues)])[0].expectArray()
            guard known?.contains(where: { $0.string == queue }) == true else { throw error }
        }
        _ = registered.withLock { $0.insert(queue) }
    }

    /// The first arguments of a script call on a queue. The caller appends the others.
    func arguments(_ queue: String, capacity: Int = 128) -> RedisArguments {
        guard isSpread || keys.database != 0 else {
            return RedisArguments(keys: [keys.meta(queue)], capacity: capacity)
        }
        return RedisArguments(keys: [keys.meta(queue), keys.channels(queue)], capacity: capacity)
    }

    /// Runs a script. Throws an error reply.
    func evaluate(_ script: RedisScript, _ arguments: RedisArguments) async throws -> RedisValue {
        do {
            return try await link.evaluate(script, tail: arguments).expectSuccess()
        } catch let error as RedisError {
            throw OperationsError(error)
        }
    }

    /// Runs a script that only reads. If the connection ends before the answer, asks once more on the next connection.
    func read(_ script: ScriptName, _ arguments: RedisArguments) async throws -> RedisValue {
        do {
            return try await link.evaluate(scripts[script], tail: arguments).expectSuccess()
        } catch let error as RedisError where error.code == .closed && error.outcomeIsUnknown {
            return try await evaluate(scripts[script], arguments)
        } catch let error as RedisError {
            throw OperationsError(error)
        }
    }
}

/// The settings of a broker. `init` has all defaults.
package struct RedisBrokerConfiguration: Sendable {
    package var namespace: String
    /// The time that a call waits for a connection and its reply.
    package var commandDeadline: Duration
    /// The time for which an enqueue repeats itself while replies are lost.
    package var enqueuePatience: Duration
    /// The time that an enqueue waits for the requested durability.
    package var durabilityPatience: Duration
    package var connectTimeout: Duration
    /// Shown in CLIENT LIST, followed by the connection's purpose.
    package var clientName: String
    /// Whether calls fail at once if Redis refuses user, password or certificate. Right for a command line, wrong for a
    /// worker.
    package var failsFastWhenRefused: Bool
    /// Runs all connections but the heartbeat's.
    package var eventLoopGroup: any EventLoopGroup
    /// Called once if Redis refuses the channel that reports ends of operations. Waits then read the state every five
    /// seconds. nil = a warning in the log.
    package var onSlowWaits: (@Sendable (OperationsError) -> Void)?
    /// Called when Redis does not answer a wait, which continues. nil = a warning in the log.
    package var onOutage: (@Sendable (OperationsError) -> Void)?
    /// Whether scripts read the time from a key, for tests.
    package var testClock: Bool
    /// Changes the scripts to break a rule, for negative controls; nil = the scripts are unchanged.
    var scriptEdit: (@Sendable (String) -> String)?

    package init(
        namespace: String = SluiceDefaults.namespace,
        commandDeadline: Duration = .seconds(5),
        enqueuePatience: Duration = .seconds(30),
        durabilityPatience: Duration = .seconds(5),
        connectTimeout: Duration = .seconds(2),
        clientName: String = "sluice",
        failsFastWhenRefused: Bool = false,
        eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        onSlowWaits: (@Sendable (OperationsError) -> Void)? = nil,
        onOutage: (@Sendable (OperationsError) -> Void)? = nil,
        testClock: Bool = false
    ) {
        self.namespace = namespace
        self.commandDeadline = commandDeadline
        self.enqueuePatience = enqueuePatience
        self.durabilityPatience = durabilityPatience
        self.connectTimeout = connectTimeout
        self.clientName = clientName
        self.failsFastWhenRefused = failsFastWhenRefused
        self.eventLoopGroup = eventLoopGroup
        self.onSlowWaits = onSlowWaits
        self.onOutage = onOutage
        self.testClock = testClock
        #if DEBUG
            if let mutant = ScriptMutant.current { scriptEdit = { mutant.apply(to: $0) } }
        #endif
    }

    /// The settings of a worker that uses the same server as a producer: it waits for a server that refuses it.
    package var ofWorker: RedisBrokerConfiguration {
        var settings = self
        settings.clientName = "sluice-worker"
        settings.failsFastWhenRefused = false
        return settings
    }
}
