import Operations

/// A command of this program that removes the reason why an operation waits, or shows more of it.
///
/// A name without a queue is in the queue of the explained operation.
package enum Remedy: Sendable, Equatable {
    case retry(DependencyName)
    /// Retries a dependency, and then its cancelled dependents.
    case retryTree(DependencyName)
    case rerun(DependencyName)
    case release(DependencyName)
    case cancel(DependencyName)
    /// Waits for the end of an operation that is being cancelled.
    case waitForCancel(DependencyName)
    case closeGroup(DependencyName)
    case resumeQueue(String)
    /// Changes a limit of a queue: `concurrency=8`.
    case limitQueue(String, setting: String)
    /// Changes a limit of one limit key: `key:acme.rate=20/s`.
    case limitKey(queue: String, setting: String)
    case resumeWorker(LabeledWorker)
    case removeStandingCancel(Int64, queue: String)
    /// Starts a worker; `handler` = a name that no live worker knows.
    case startWorker(queue: String, handler: String?)

    case explain(DependencyName)
    case show(DependencyName)
    case showResult(DependencyName)
    case followLog(DependencyName)
    case showWorker(String)
    case listExecuting
    case examine

    /// A worker, with the label that people know.
    package struct LabeledWorker: Sendable, Equatable {
        package var id: String
        package var label: String
    }

    /// Whether the command changes something.
    package var isChange: Bool {
        switch self {
        case .retry, .retryTree, .rerun, .release, .cancel, .closeGroup, .resumeQueue, .limitQueue, .limitKey,
            .resumeWorker,
            .removeStandingCancel, .startWorker:
            true
        case .waitForCancel, .explain, .show, .showResult, .followLog, .showWorker, .listExecuting, .examine: false
        }
    }

    /// The words of the command after the name of the program.
    package var words: [String] {
        switch self {
        case .retry(let name): ["retry", "\(name)"]
        case .retryTree(let name): ["retry", "\(name)", "--tree"]
        case .rerun(let name): ["rerun", "\(name)"]
        case .release(let name): ["release", "\(name)"]
        case .cancel(let name): ["cancel", "\(name)"]
        case .waitForCancel(let name): ["cancel", "\(name)", "--wait"]
        case .closeGroup(let name): ["group", "close", "\(name)"]
        case .resumeQueue(let queue): ["queue", "resume", queue]
        case .limitQueue(let queue, let setting), .limitKey(let queue, let setting): ["queue", "limit", queue, setting]
        case .resumeWorker(let worker): ["workers", "resume", worker.label]
        case .removeStandingCancel(let id, let queue): ["cancels", "rm", "\(queue)/\(id)"]
        case .startWorker(let queue, let handler):
            ["worker", "-q", queue] + (handler.map { ["--handler", "\($0)=PROGRAM"] } ?? [])
        case .explain(let name): ["explain", "\(name)"]
        case .show(let name): ["show", "\(name)"]
        case .showResult(let name): ["result", "\(name)"]
        case .followLog(let name): ["logs", "\(name)", "-f"]
        case .showWorker(let id): ["workers", "show", id]
        case .listExecuting: ["list", "state:executing"]
        case .examine: ["doctor"]
        }
    }

    /// The command line, quoted for a shell.
    package var command: String { Program.command(words) }
}
