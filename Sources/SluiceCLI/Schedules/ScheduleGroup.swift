import ArgumentParser
import SluiceOperator

/// `schedule add | ls | show | rm | pause | resume | run | preview`
package struct ScheduleGroup: ParsableCommand {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "schedule",
            abstract: "Enqueue operations repeatedly: add, list, show, pause and preview schedules.",
            discussion: """
                EXAMPLES
                  \(Program.name) schedule add cleanup noop --every 10m
                  \(Program.name) schedule add nightly report day=today --cron '0 3 * * *' --tz Europe/Berlin -q reports
                  \(Program.name) schedule preview --cron '30 2 * * *' --tz Europe/Berlin
                  \(Program.name) schedule ls
                  \(Program.name) schedule pause nightly

                The workers of its queue enqueue the operation of each instant once, however many workers run.
                """,
            subcommands: [
                ScheduleAddVerb.self, ScheduleListVerb.self, ScheduleShowVerb.self, ScheduleRemoveVerb.self,
                SchedulePauseVerb.self, ScheduleResumeVerb.self, ScheduleRunVerb.self, SchedulePreviewVerb.self,
            ]
        )
    }

    package init() {}
}
