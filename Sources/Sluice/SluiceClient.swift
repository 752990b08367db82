@_exported import OperationKeys
@_exported import Operations

/// A producer's connection to a namespace: enqueue operations, follow them, cancel them.
///
/// ```swift
/// let sluice = try await SluiceClient.connect(to: "redis://localhost:6379/0")
/// let handle = try await sluice.enqueue(Resize(path: "a.png", width: 200), priority: .high)
/// let resized = try await handle.value
/// await sluice.close()
/// ```
///
/// A client is a value that shares one connection; copy it freely and use it from any task.
public struct SluiceClient: Sendable {
    /// The namespace that every queue name is relative to.
    public let namespace: String
    package let broker: any Broker & BrokerInspection
    /// Signs and encrypts what is enqueued; nil = there are no keys.
    package let seal: (any EnvelopeSeal)?
    private let onClose: @Sendable () async -> Void

    /// A client of any broker, for tests and for those who connect by themselves.
    ///
    /// - Parameters:
    ///   - broker: does the work.
    ///   - namespace: the namespace that the broker is bound to.
    ///   - keys: sign and encrypt what is enqueued.
    ///   - onClose: what `close` does.
    package init(
        broker: any Broker & BrokerInspection,
        namespace: String = Defaults.namespace,
        keys: OperationKeys? = nil,
        onClose: @escaping @Sendable () async -> Void = {}
    ) {
        self.broker = broker
        self.namespace = namespace
        seal = keys.map { OperationSeal($0, namespace: namespace) }
        self.onClose = onClose
    }

    /// Ends the connection. What was enqueued stays; calls after this throw.
    public func close() async { await onClose() }
}
