import Foundation
import OperationKeys

extension SluiceConfiguration {
    /// The configuration that the environment names.
    ///
    /// - `SLUICE_REDIS_URL`, else `REDIS_URL`: the server.
    /// - `SLUICE_NAMESPACE`: the namespace; without it the default one.
    /// - `SLUICE_KEYS_FILE` names the file of the keys, or `SLUICE_KEYS` has them.
    ///
    /// A program that a worker runs as an operation (`SLUICE_OPERATION_ID` is set) never uses the embedded server,
    /// because its worker may use another one. `sluice worker --pass-redis` passes the URL on.
    ///
    /// - Parameters:
    ///   - environment: the variables.
    ///   - server: the server if no variable names one; nil = an error then.
    /// - Returns: a configuration with the defaults of all other settings.
    /// - Throws: `OperationsError` with `.invalidOption` if no variable names a server; `OperationKeysError` for keys
    ///   that cannot be read.
    public static func fromEnvironment(
        _ environment: [String: String] = ProcessInfo.processInfo.environment,
        otherwise server: Server? = nil
    ) throws -> SluiceConfiguration {
        // A variable that was read from a file may end with a newline.
        let value = { (name: String) in
            environment[name].map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }.flatMap {
                $0.isEmpty ? nil : $0
            }
        }
        let url = value("SLUICE_REDIS_URL") ?? value("REDIS_URL")
        guard let server = try url.map(Server.url) ?? permitted(server, environment) else {
            throw OperationsError(
                .invalidOption,
                "neither SLUICE_REDIS_URL nor REDIS_URL is set; set SLUICE_REDIS_URL, for example to "
                    + "redis://localhost:6379/0, or pass otherwise: .embedded for a private server"
            )
        }
        return SluiceConfiguration(
            server,
            namespace: value("SLUICE_NAMESPACE") ?? SluiceDefaults.namespace,
            keys: try OperationKeys.fromEnvironment(environment)
        )
    }

    private static func permitted(_ server: Server?, _ environment: [String: String]) throws -> Server? {
        guard server == .embedded, operationOfThisProcess(environment) != nil else { return server }
        throw OperationsError(
            .invalidOption,
            "SLUICE_REDIS_URL is not set, and a program that runs as an operation uses no private Redis; "
                + "start its worker with --pass-redis"
        )
    }

    /// The id of the operation that this process runs as a program; nil for any other process.
    package static func operationOfThisProcess(
        _ environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> String? {
        environment["SLUICE_OPERATION_ID"].flatMap { $0.isEmpty ? nil : $0 }
    }
}
