import BrokerModel
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Operations
import Sluice
import SluiceOperator
import Testing

@testable import SluiceDashboard

/// A dashboard over a broker in memory, and a browser that is logged in.
struct Desk {
    let broker = InMemoryBroker()
    let site: Site

    init(
        basePath: String = "",
        isReadOnly: Bool = false,
        view: PayloadView = PayloadView(),
        users: Users = Users(),
        isOpen: Bool = false,
        proxy: ProxyRule? = nil
    ) {
        var options = DashboardOptions(namespace: "test", identity: "tester@host")
        (options.basePath, options.isReadOnly, options.view) = (basePath, isReadOnly, view)
        (options.users, options.proxy, options.isOpen) = (users, proxy, isOpen)
        // Each request sees the changes of the one before.
        options.interval = .zero
        options.patience = .seconds(3_600)
        options.changeLease = .seconds(3_600)
        site = Site(SluiceClient(broker: broker, namespace: "test"), options)
    }

    /// Enqueues operations and returns their ids.
    @discardableResult
    func enqueue(
        _ names: String...,
        arguments: JSONValue = [:],
        tags: [String] = [],
        queue: String = "mail"
    ) async throws -> [OperationID] {
        let operations = names.map { name in
            var envelope = OperationEnvelope(name: name, arguments: Array(arguments.serialized().utf8))
            envelope.tags = tags
            return NewOperation(envelope: envelope.encoded())
        }
        _ = try await broker.enqueue(operations, queue: queue)
        return operations.map(\.id)
    }

    /// Enqueues an operation that waits for others, and returns its id.
    func enqueue(
        _ name: String,
        after dependencies: [OperationDependency],
        queue: String = "mail"
    ) async throws -> OperationID {
        var links = OperationLinks(after: dependencies)
        for dependency in dependencies {
            guard let other = dependency.queue else { continue }
            links?.said[dependency.name] = try await broker.link([dependency.id], in: other, from: queue).first
        }
        let operation = NewOperation(envelope: OperationEnvelope(name: name).encoded(), links: links)
        _ = try await broker.enqueue([operation], queue: queue)
        return operation.id
    }

    /// Sends the heartbeat of a worker, and returns the worker.
    @discardableResult
    func beat(
        _ worker: WorkerID = WorkerID(),
        name: String = "w",
        host: String = "h1",
        lease: Int64 = 3_600_000,
        queue: String = "mail"
    ) throws -> WorkerID {
        var beat = Beat(worker: worker, epoch: 1, leaseMilliseconds: lease, intervalMilliseconds: 5_000, info: [])
        beat.info = WorkerInfo(name: name, host: host).encoded()
        _ = try broker.beat(beat, queue: queue)
        return worker
    }

    struct Answer {
        let status: Int
        let headers: HTTPFields
        let text: String

        var location: String { headers[.location] ?? "" }
    }

    /// Sends a request as a browser of a person with this role would.
    func callAsFunction(
        _ path: String,
        _ method: HTTPRequest.Method = .get,
        as role: Role? = .admin,
        form: String? = nil,
        headers: HTTPFields? = nil
    ) async throws -> Answer {
        let application = Application(router: Routes(site: site).router())
        return try await application.test(.router) { client in
            var fields = headers ?? [.fetchSite: "same-origin"]
            if let role { fields[.cookie] = "\(site.cookie)=\(try session(of: role))" }
            let response = try await client.execute(
                uri: path,
                method: method,
                headers: fields,
                body: form.map { ByteBuffer(string: $0) }
            )
            return Answer(
                status: response.status.code,
                headers: response.headers,
                text: String(buffer: response.body)
            )
        }
    }

    private func session(of role: Role) throws -> String {
        let link = site.sessions.makeLink(for: Visitor(name: "ann", role: role))
        return site.sessions.open(for: try #require(site.sessions.redeem(link)))
    }

    func detail(_ id: OperationID, queue: String = "mail") async throws -> OperationDetail? {
        try await broker.details([id], queue: queue)[0]
    }
}

extension WorkerInfo {
    /// The information of a worker of queue `mail` with one slot.
    init(name: String, host: String) {
        self.init(
            host: host,
            pid: 7,
            name: name,
            slots: 1,
            queues: ["mail"],
            handles: [],
            version: "1",
            startedAt: 0
        )
    }
}
