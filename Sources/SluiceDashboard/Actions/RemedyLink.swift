import Operations
import SluiceOperator
import TerminalText

/// The page of the dashboard that does what a remedy's command does, or shows what it shows.
struct RemedyLink: Equatable {
    let title: String
    let link: Link
    /// Whether the page asks before a change.
    let isChange: Bool

    /// - Parameter detail: the operation of the page; nil = the page is about no operation.
    /// - Returns: nil if the dashboard has no such page, or if the visitor does not have the right.
    init?(_ advice: Explanation.Advice, on detail: OperationDetail?, _ visit: Visit) {
        let links = visit.links
        func operation(_ name: DependencyName) -> (address: OperationAddress, isOwn: Bool) {
            let address = OperationAddress(queue: name.queue ?? advice.queue, id: name.id)
            return (address, address.id == detail?.id && address.queue == detail?.queue)
        }
        func change(_ action: OperationAction, _ name: DependencyName) -> (String, Link)? {
            guard visit.may(action.permission) else { return nil }
            let (address, isOwn) = operation(name)
            return (
                isOwn ? detail.map(action.title(on:)) ?? action.title : "\(action.title) …\(name.id.short)",
                links.to("ops", address.id.description, action.rawValue, query: ["queue": address.queue])
            )
        }
        func page(_ name: DependencyName) -> (String, Link) {
            let address = operation(name).address
            let link = links.to("ops", address.id.description, query: ["queue": address.queue])
            return ("See …\(name.id.short)", link)
        }
        let found: (title: String, link: Link)?
        switch advice.remedy {
        case .retry(let name): found = change(.retry, name)
        case .release(let name): found = change(.release, name)
        case .cancel(let name): found = change(.cancel, name)
        case .resumeQueue(let queue) where visit.may(.pause):
            found = ("Resume queue \(queue)", links.to("queues", "resume", query: ["queue": queue]))
        case .resumeWorker(let worker) where visit.may(.quietWorker):
            found = ("Resume worker \(worker.label)", links.to("workers", "resume", query: ["id": worker.id]))
        case .limitQueue(let queue, _) where visit.may(.limit):
            found = ("Change the limits of queue \(queue)", links.to("queues", "limit", query: ["queue": queue]))
        case .explain(let name), .show(let name): found = page(name)
        case .showWorker(let id): found = ("See the worker", links.to("workers", "show", query: ["id": id]))
        case .listExecuting: found = ("See what runs", links.to("ops", query: ["state": "executing"]))
        case .examine: found = ("See the findings of doctor", links.to("doctor"))
        case .retryTree, .rerun, .waitForCancel, .closeGroup, .resumeQueue, .limitQueue, .limitKey, .resumeWorker,
            .removeStandingCancel, .startWorker, .showResult, .followLog:
            found = nil
        }
        guard let found else { return nil }
        (title, link, isChange) = (found.title, found.link, advice.remedy.isChange)
    }

    var markup: Markup {
        tag("a", .class(isChange ? "button" : "link"), .href(link), text: title)
    }
}

extension OperationID {
    /// The last characters of the id, as lists show them.
    fileprivate var short: String { String(description.suffix(ShortID.minimum)) }
}
