import Logging

extension OperationContext {
    /// A logger whose lines name the run: `queue`, `operation.id`, `operation.name`, `attempt` and `delivery` are in
    /// the metadata.
    ///
    /// In a worker, the lines go to the worker's logger. With `WorkerConfiguration.operationLogLevel`, lines of that
    /// level and above also go to the operation's log (`sluice logs ID`). Keep the logger in a variable: each call
    /// makes a new one. `loggerMetadata` adds what middleware has set.
    public var logger: Logger {
        var logger = link.logger
        if let level = link.operationLogLevel {
            let handler = MultiplexLogHandler([logger.handler, OperationLogHandler(link: link, logLevel: level)])
            logger = Logger(label: logger.label) { _ in handler }
        }
        logger[metadataKey: "queue"] = "\(queue)"
        logger[metadataKey: "operation.id"] = "\(id)"
        logger[metadataKey: "operation.name"] = "\(name)"
        logger[metadataKey: "attempt"] = "\(attempt)"
        logger[metadataKey: "delivery"] = "\(delivery)"
        for (key, value) in loggerMetadata { logger[metadataKey: key] = value }
        return logger
    }
}

/// Writes log lines into the log of a running operation, which needs no metadata about the run.
private struct OperationLogHandler: LogHandler {
    let link: any OperationLink
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let facts = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        let error = event.error.map { " error=\($0)" } ?? ""
        link.write(lines: "\(event.level) \(event.message)\(facts)\(error)")
    }
}
