import Hummingbird
import Operations
import Sluice
import SluiceOperator
import TerminalText

/// The pages that ask before a change of schedules, and the requests that make it.
struct ScheduleRoutes: Sendable {
    /// The most schedules of one change. Each one takes a few calls to Redis.
    private static let most = 200

    let routes: Routes
    private var site: Site { routes.site }

    func add(to group: RouterGroup<DashboardContext>) {
        for action in ScheduleAction.allCases {
            let path = RouterPath("schedules/\(action.rawValue)")
            routes.page(group, path) { visit in try await confirmation(action, visit) }
            group.post(path) { request, context in try await perform(action, request, context) }
        }
    }

    private func names(_ fields: FormFields) throws(PageFailure) -> [ScheduleName] {
        let texts = fields.all("schedule")
        guard !texts.isEmpty else { throw .badRequest("No schedule is chosen. Go back and mark some.") }
        guard texts.count <= Self.most else {
            throw .badRequest("\(texts.count) schedules are chosen. Choose at most \(Self.most) at once.")
        }
        var names: [ScheduleName] = []
        for text in texts {
            guard let name = ScheduleName(text: text) else { throw .badRequest("\(text) is no name of a schedule.") }
            if !names.contains(name) { names.append(name) }
        }
        return names
    }

    // MARK: The question

    private func confirmation(_ action: ScheduleAction, _ visit: Visit) async throws -> PageContent {
        _ = try action.permission.require(visit.visitor)
        var schedules: [OperationSchedule] = []
        for name in try names(visit.query) { schedules.append(try await ScheduleFinder.find(name, site)) }
        let possible = schedules.filter { action.isPossible($0.state) }
        guard !possible.isEmpty else {
            throw PageFailure(
                status: .conflict,
                title: "Nothing to do",
                message: action == .resume ? "None of these schedules is paused." : "All of these are paused already."
            )
        }
        let isOne = possible.count == 1
        let number = QuantityText.grouped(possible.count)
        return ConfirmationPage(
            place: .schedules,
            question: isOne ? "\(action.title): schedule \(possible[0].id)?" : "\(action.title): \(number) schedules?",
            subject: list(possible, skipped: schedules.count - possible.count),
            effect: action.effect,
            button: isOne ? action.title : "\(action.title) \(number) schedules",
            isFinal: action.isFinal,
            takesReason: false,
            target: site.links.to("schedules", action.rawValue),
            back: isOne ? ScheduleLink.to(possible[0], site.links) : site.links.to("schedules"),
            command: ["schedule", action.verb] + possible.map(\.id) + queues(of: possible)
        ).content
    }

    /// The option that names the queue, if all schedules are in one.
    private func queues(of schedules: [OperationSchedule]) -> [String] {
        let queues = Set(schedules.map(\.queue))
        return queues.count == 1 ? ["-q", schedules[0].queue] : []
    }

    private func list(_ schedules: [OperationSchedule], skipped: Int) -> Markup {
        parts {
            for schedule in schedules {
                tag("span", .class("line")) {
                    void("input", .named("type", "hidden"), .name("schedule"), .value(ScheduleName(schedule).text))
                    tag("b", text: schedule.id)
                    " in queue \(schedule.queue), \(schedule.state.rawValue), "
                        + (schedule.recurrence?.description ?? "unreadable") + ", enqueues \(schedule.name)"
                }
            }
            if skipped > 0 {
                tag("span", .class("line dim"), text: "Marked, but already so: \(QuantityText.grouped(skipped)).")
            }
        }
    }

    // MARK: The change

    private func perform(
        _ action: ScheduleAction,
        _ request: Request,
        _ context: DashboardContext
    ) async throws -> Response {
        let visitor = try action.permission.require(context.visitor)
        let names = try names(try await request.form())
        // A schedule that is gone, and a Redis that does not answer, are found before anything is changed.
        for name in names { _ = try await ScheduleFinder.find(name, site) }
        let control = site.client.schedules.changing(by: visitor.name)
        var done: [ScheduleName] = []
        var last: OperationReference?
        do {
            for name in names {
                last = try await action.apply(to: name, control)
                done.append(name)
            }
        } catch {
            await site.loop.expire()
            throw failure(error, done, names)
        }
        await site.loop.expire()
        return Response.seeOther(after(action, names, last))
    }

    private func failure(_ error: any Error, _ done: [ScheduleName], _ names: [ScheduleName]) -> PageFailure {
        let failed = names[done.count]
        var notes = done.isEmpty ? [] : ["Changed before: " + done.map(\.text).joined(separator: ", ")]
        let rest = names.dropFirst(done.count + 1)
        if !rest.isEmpty { notes.append("Not tried: " + rest.map(\.text).joined(separator: ", ")) }
        let command = ["schedule", "show", failed.id, "-q", failed.queue]
        guard let refusal = error as? OperationsError, [.refused, .notFound].contains(refusal.code) else {
            return PageFailure(
                status: .serviceUnavailable,
                title: "The change of \(failed.text) may have been made",
                message: "Redis was asked, and then: \(error)",
                notes: ["Look at the schedule before you try again."] + notes,
                command: command
            )
        }
        let title = done.isEmpty ? "Nothing was changed" : "Not all was changed"
        return PageFailure(status: .conflict, title: title, message: refusal.message, notes: notes, command: command)
    }

    /// The page to show after the change.
    private func after(_ action: ScheduleAction, _ names: [ScheduleName], _ last: OperationReference?) -> Link {
        if let last, names.count == 1 {
            let outcome: OutcomeNotice = last.isNew ? .scheduleRan : .scheduleJoined
            return site.links.to("ops", "\(last.id)", query: ["queue": last.queue, "outcome": outcome.rawValue])
        }
        if names.count == 1, action != .remove {
            let name = names[0]
            let query: KeyValuePairs<String, String?> = [
                "queue": name.queue, "id": name.id, "outcome": action.notice.rawValue,
            ]
            return site.links.to("schedules", "show", query: query)
        }
        return site.links.to("schedules", query: ["outcome": action.notice.rawValue])
    }
}

/// Finds schedules by their names.
enum ScheduleFinder {
    /// - Throws: `PageFailure` if the queue has no such schedule, or if Redis does not answer.
    static func find(_ name: ScheduleName, _ site: Site) async throws -> OperationSchedule {
        guard let schedule = try await site.client.schedules.schedule(name.id, queue: name.queue) else {
            throw PageFailure.notFound("Queue \(name.queue) has no schedule \(name.id).")
        }
        return schedule
    }
}
