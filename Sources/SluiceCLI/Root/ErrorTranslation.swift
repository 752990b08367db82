import EmbeddedRedis
import Foundation
import Operations
import RedisBroker
import RedisClient
import Selectors
import SluiceMonitor
import SluiceOperator
import TerminalText
import WorkerRuntime

/// Converts any error to a `CLIError`.
package enum ErrorTranslation {
    package static func report(_ error: any Error, settings: Settings?) -> CLIError {
        switch error {
        case let error as CLIError: error
        case let error as OperationsError: report(error, settings: settings)
        case let error as EmbeddedRedisError: report(error)
        case let error as WorkerError: report(error, settings: settings)
        case let error as TextError: .usage(error.message)
        case let error as QueryError: .usage(error.message, fix: error.fix)
        case let error as LookupFailure: report(error)
        case let error as AbsentQueues:
            CLIError(
                .unreachable,
                error.sentence,
                fix: "name queues of other nodes with queue:NAME, or wait for this node"
            )
        case is CancellationError: CLIError(.interrupted, "interrupted")
        default:
            CLIError(
                .bug,
                "unexpected: \(String(describing: error))",
                fix: "report this error with the command"
            )
        }
    }

    private static func report(_ error: LookupFailure) -> CLIError {
        let status: ExitStatus =
            switch error.code {
            case .notFound: .notFound
            case .ambiguous, .tooMany: .usage
            case .unreachable: .unreachable
            }
        let fix: String? =
            switch error.fix {
            case .command(let words): "\(Program.name) \(words)"
            case .advice(let text): text
            case nil: nil
            }
        return CLIError(status, error.message, notes: error.notes, fix: fix)
    }

    private static func report(_ error: WorkerError, settings: Settings?) -> CLIError {
        let status: ExitStatus =
            switch error.code {
            case .unsafeServer, .unsupportedServer, .incompatible: .badConfiguration
            case .invalidConfiguration, .alreadyRun: .usage
            }
        let isOptional = error.code == .unsafeServer
        return CLIError(
            status,
            error.message,
            notes: isOptional
                ? ["--allow-eviction starts anyway, and operations are lost when the memory is full"] : [],
            // `-N` overrides the variable that the worker's own fix sets.
            fix: error.code == .incompatible ? otherNamespace(settings) : error.fix
        )
    }

    private static func report(_ error: OperationsError, settings: Settings?) -> CLIError {
        let origin =
            settings.map { ["from: \($0.redis.content == nil ? "the embedded server" : "\($0.redis.origin)")"] } ?? []
        switch error.code {
        case .invalidName, .invalidOption, .tooLarge, .malformed: return usage(error.message)
        case .notFound: return CLIError(.notFound, error.message)
        case .refused, .leaseLost: return CLIError(.refused, error.message)
        case .dead: return CLIError(.dead, error.message)
        case .cancelled, .expired: return CLIError(.cancelled, error.message)
        case .timedOut: return CLIError(.timedOut, error.message)
        case .full:
            return CLIError(
                .refused,
                "Redis has no memory left: \(error.message)",
                notes: origin,
                fix: "let workers drain the queues, or raise maxmemory"
            )
        case .denied:
            let (message, command) = remedy(error.message)
            return CLIError(
                .denied,
                "Redis denied: \(message)",
                notes: origin,
                fix: command ?? "check user and password in the URL, and the user's permissions (redis-cli ACL LOG)"
            )
        case .untrusted:
            return CLIError(.denied, error.message, notes: origin, fix: certificate(settings))
        case .incompatible:
            return CLIError(.badConfiguration, error.message, notes: origin, fix: otherNamespace(settings))
        case .outcomeUnknown:
            return CLIError(
                .unreachable,
                "no answer from Redis, so the outcome is unknown: \(error.message)",
                notes: origin,
                fix: reach(settings)
            )
        case .unavailable, .bufferFull:
            return CLIError(.unreachable, error.message, notes: origin, fix: reach(settings))
        }
    }

    private static func otherNamespace(_ settings: Settings?) -> String? {
        settings.map { "-N \(NamespaceProtocol.otherNamespace(than: $0.namespace.content))" }
    }

    /// Splits off the command that grants the permission, with which a refusal may end.
    private static func remedy(_ message: String) -> (message: String, command: String?) {
        guard let range = message.range(of: ": allow it with ", options: .backwards) else { return (message, nil) }
        return (String(message[..<range.lowerBound]), String(message[range.upperBound...]))
    }

    /// Splits a message of the model into the event and, after the colon, the remedy.
    private static func usage(_ message: String) -> CLIError {
        let verbs = ["use", "store", "drop", "enqueue", "give", "let", "set", "cancel", "add"]
        let remedies = verbs.compactMap { message.range(of: ": \($0) ", options: .backwards)?.lowerBound }
        guard let colon = remedies.max() else { return .usage(message, fix: "\(Program.name) --help") }
        return .usage(String(message[..<colon]), fix: String(message[colon...].dropFirst(2)))
    }

    private static func report(_ error: EmbeddedRedisError) -> CLIError {
        CLIError(.unreachable, error.message, fix: "\(Program.name) redis status, or use another Redis: --redis URL")
    }

    /// The command that tests whether the address answers.
    private static func reach(_ settings: Settings?) -> String {
        guard let endpoint = settings?.redis.content else { return "\(Program.name) redis status" }
        return switch endpoint.address {
        case .tcp, .unix: endpoint.redisCLI + " ping"
        case .sentinels(let sentinels):
            endpoint.redisCLI + " sentinel get-master-addr-by-name " + ShellWords.quoted(sentinels.master)
        case .cluster: endpoint.redisCLI + " cluster info"
        }
    }

    /// The command that shows the server's certificate and its issuer.
    private static func certificate(_ settings: Settings?) -> String {
        guard let endpoint = settings?.redis.content, let host = endpoint.firstHost else { return reach(settings) }
        let file = endpoint.tls?.caCertificateFile.map { " -CAfile " + ShellWords.quoted($0) } ?? ""
        return "openssl s_client -connect \(ShellWords.quoted(host.description))\(file) </dev/null"
    }
}
