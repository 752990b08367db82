import ArgumentParser
import Operations
import RedisBroker
import SluiceOperator

extension RedisRole: ExpressibleByArgument {}

package struct ConfigACLVerb: Verb {
    package static let formats: Set<OutputFormat> = .json
    package static let effect = VerbEffect.reads

    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "acl",
            abstract: "Print the minimal permissions of a Redis user for each role, as lines of an ACL file.",
            discussion: """
                EXAMPLES
                  \(Program.name) config acl -N shop
                  \(Program.name) config acl worker --user shop-worker -N shop >> users.acl

                Roles: a producer enqueues, waits, cancels and retries by id; a worker runs operations; a monitor only reads; an operator cancels, retries, pauses, removes and runs doctor. A producer that waits for the append-only file (enqueue --durability aof, Redis 7.2) also needs +waitaof. Replace PASSWORD in each line (or the word >PASSWORD by #SHA256), then run ACL LOAD. ACL SETUSER takes the same words.

                To refuse clients without a user, add: user default off ~* &* +@all. Keep the permissions of this user: Redis 7.0 replays its append-only file as this user, and silently skips commands that the user may not run.
                """
        )
    }

    @Argument(help: "producer, worker, monitor or operator (all).")
    var roles: [RedisRole] = []
    @Option(name: .long, help: "Name the user of the role (sluice-ROLE).")
    var user: String?
    @OptionGroup package var global: GlobalOptions

    package init() {}

    package func check() throws {
        guard let user else { return }
        guard roles.count == 1 else {
            throw CLIError.usage("--user needs one role", fix: "\(Program.name) config acl worker --user NAME")
        }
        guard NameRule.allows(user) else {
            throw CLIError.usage("a user has 1 to 128 letters, digits, '.', '_' or '-'", fix: "--user sluice-worker")
        }
    }

    package func perform(_ invocation: Invocation) async throws -> ExitStatus {
        let namespace = invocation.settings.namespace.content
        let lines = (roles.isEmpty ? RedisRole.allCases : roles).map { role in
            (role: role, user: user ?? "sluice-\(role.rawValue)", rules: role.rules(namespace: namespace))
        }
        if invocation.format.isJSON {
            let users: [JSONValue] = lines.map { line in
                [
                    "role": .string(line.role.rawValue), "user": .string(line.user),
                    "rules": .array(line.rules.map { .string($0) }),
                ]
            }
            invocation.console.print(
                ["v": 1, "namespace": .string(namespace), "users": .array(users)],
                invocation.format
            )
        } else {
            invocation.console.print(
                lines.map { "user \($0.user) on >PASSWORD \($0.rules.joined(separator: " "))" }
            )
        }
        return .done
    }
}
