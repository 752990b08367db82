import ArgumentParser
import SluiceOperator

/// `group open | add | close | show | wait | cancel | ls`
package struct GroupGroup: ParsableCommand {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "group",
            abstract: "Open groups of operations, add members, wait for all of them, and cancel them together.",
            discussion: """
                EXAMPLES
                  id=$(\(Program.name) group open nightly)
                  \(Program.name) enqueue sync page:=1 --group $id
                  \(Program.name) enqueue report --on-success $id
                  \(Program.name) group close $id
                  \(Program.name) group wait $id --timeout 1h
                  \(Program.name) group ls

                A group ends when it is closed and all its members have ended, in whatever queues they are: finished if all of them have \
                finished, cancelled if it was cancelled, otherwise dead. When members of a dead group are retried and finish, so does the group. \
                A group is an operation that never runs: enqueue --after GROUP waits for it, and show, explain and \
                graph display it.
                """,
            subcommands: [
                GroupOpenVerb.self, GroupAddVerb.self, GroupCloseVerb.self, GroupListVerb.self, GroupShowVerb.self,
                GroupWaitVerb.self, GroupCancelVerb.self,
            ]
        )
    }

    package init() {}
}
