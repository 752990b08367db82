import Operations
import Selectors
import SluiceOperator
import TerminalText

/// A change of many operations, as a request names it: an action, and a query or marked operations.
struct ChangeTarget {
    let action: OperationAction
    let target: ChangeJob.Target
    /// The query and the tab of the list from which the request comes.
    let typed: String
    let state: OperationState?
    /// Whether the change is for all operations of the namespace, which needs an admin.
    let isForAll: Bool

    init(_ action: OperationAction, _ target: ChangeJob.Target) {
        (self.action, self.target, state) = (action, target, nil)
        if case .matching(let text) = target {
            (typed, isForAll) = (text, (try? QueryText.parse(text))?.isUnlimited ?? true)
        } else {
            (typed, isForAll) = ("", false)
        }
    }

    /// - Throws: `PageFailure` if the request names no change.
    init(_ fields: FormFields) throws(PageFailure) {
        guard let action = fields["action"].flatMap(OperationAction.init) else {
            throw .badRequest("The change has no action: cancel, retry, hold, release or remove.")
        }
        self.action = action
        typed = fields["q"] ?? ""
        state = try fields.state()
        let marks = (fields["ids"] ?? "").split(separator: ",").map(String.init) + fields.all("mark")
        if fields["scope"] == "marked" || (fields["scope"] == nil && !marks.isEmpty) {
            target = .marked(try Self.addresses(marks))
            isForAll = false
        } else {
            let words = (state.map { ["state:" + $0.rawValue] } ?? []) + (typed.isEmpty ? [] : [typed])
            target = .matching(words.joined(separator: " "))
            do { isForAll = try QueryText.parse(typed).isUnlimited && state == nil } catch {
                throw .badRequest("\(error)")
            }
        }
    }

    private static func addresses(_ marks: [String]) throws(PageFailure) -> [OperationAddress] {
        let addresses = marks.compactMap { OperationAddress($0) }
        guard addresses.count == marks.count else { throw .badRequest("A marked operation is QUEUE/ID.") }
        guard !addresses.isEmpty else {
            throw .badRequest("No operation is marked. Mark some, or choose all that match.")
        }
        guard addresses.count <= ChangeJob.markedLimit else {
            throw .badRequest("At most \(ChangeJob.markedLimit) operations can be marked. Use a query for more.")
        }
        var seen: Set<OperationAddress> = []
        return addresses.filter { seen.insert($0).inserted }
    }

    /// The rights that the change needs.
    var permissions: [Permission] { [action.permission] + (isForAll ? [.all] : []) }

    var ids: String? {
        guard case .marked(let addresses) = target else { return nil }
        return addresses.map { "\($0.queue)/\($0.id)" }.joined(separator: ",")
    }

    /// The list from which the change comes.
    func list(_ links: Links) -> Link { links.to("ops", query: ["state": state?.rawValue, "q": typed]) }

    /// - Parameters:
    ///   - reason: what the form has in its field.
    ///   - spread: what the form has in its field.
    func plan(_ links: Links, reason: String? = nil, spread: String? = nil) -> Link {
        links.to(
            "changes",
            "new",
            query: [
                "action": action.rawValue, "state": state?.rawValue, "q": typed, "ids": ids,
                "scope": ids == nil ? "all" : nil, "reason": reason, "spread": spread,
            ]
        )
    }

    var command: [String] {
        switch target {
        case .matching(let text): [action.kind.verb, "-w", text.isEmpty ? "queue:*" : text]
        case .marked(let addresses): [action.kind.verb] + addresses.map { "\($0.queue)/\($0.id)" }
        }
    }

    /// A number that differs for other changes: a plan is confirmed for what it has shown.
    func digest(count: Int) -> String {
        let text: String
        switch target {
        case .matching(let query): text = "q \(query)"
        case .marked: text = "m \(ids ?? "")"
        }
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in "\(action.rawValue) \(count) \(text)".utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return String(hash, radix: 16)
    }
}
