import ArgumentParser
import Foundation
import Operations
import Schedules
import Selectors
import TerminalText

/// The options for the times of a schedule.
package struct RecurrenceFlags: ParsableArguments {
    @Option(
        help: ArgumentHelp("Run after equal times, at least 1s, for example 10m.", valueName: "time"),
        transform: DurationText.parse
    )
    var every: Duration?
    @Option(
        help: ArgumentHelp(
            "Run at the times of a cron expression: five fields, six with the seconds first, or @hourly, @daily, @weekly, @monthly, @yearly.",
            valueName: "expression"
        )
    )
    var cron: String?
    @Option(
        name: [.customLong("tz"), .customLong("zone")],
        help: ArgumentHelp("Read the cron expression in this IANA time zone (UTC).", valueName: "zone")
    )
    var zone: String?
    @Option(
        help: ArgumentHelp("Skip all instants before this time.", valueName: "time"),
        transform: TimeText.parse
    )
    var start: Int64?
    @Option(help: ArgumentHelp("Skip all instants after this time.", valueName: "time"), transform: TimeText.parse)
    var end: Int64?

    package init() {}

    var isGiven: Bool { every != nil || cron != nil }

    /// Makes the recurrence from the options.
    ///
    /// - Throws: `.usage`, which names the wrong option.
    func recurrence() throws(CLIError) -> Recurrence {
        let fix = "--every 10m, or --cron '0 3 * * *' --tz Europe/Berlin"
        guard every == nil || cron == nil else {
            throw .usage("--every and --cron exclude each other", fix: "drop one of them")
        }
        guard cron != nil || zone == nil else {
            throw .usage("--tz belongs to --cron: equal times are the same in all zones", fix: "drop --tz")
        }
        guard let recurrence = every.map(Recurrence.every) ?? cron.map({ Recurrence.cron($0, zone: zone ?? "UTC") })
        else { throw .usage("when to run is missing; expected --every or --cron", fix: fix) }
        do { try recurrence.check() } catch { throw .usage(error.message, fix: nearZone ?? fix) }
        if let start, let end, end < start {
            throw .usage(
                "--end \(TimeText.rfc3339(end)) is before --start \(TimeText.rfc3339(start))",
                fix: "swap them"
            )
        }
        return recurrence
    }

    private var nearZone: String? {
        guard let zone, (try? Recurrence.cron("@daily", zone: zone).check()) == nil else { return nil }
        return Suggestion.nearest(to: zone, among: Recurrence.knownZones).map { "--tz \($0)" }
    }

    var bounds: (start: Date?, end: Date?) {
        (
            start.map { Date(timeIntervalSince1970: Double($0) / 1000) },
            end.map { Date(timeIntervalSince1970: Double($0) / 1000) }
        )
    }
}
