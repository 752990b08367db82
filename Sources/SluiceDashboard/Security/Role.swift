/// The rights of a person.
package enum Role: String, Sendable, CaseIterable, Comparable {
    /// Reads everything, changes nothing.
    case viewer
    /// Also makes changes that can be undone or that end single operations.
    case operate = "operator"
    /// Also removes data.
    case admin

    package static func < (left: Role, right: Role) -> Bool {
        (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
    }

    func has(_ permission: Permission) -> Bool { self >= permission.least }
}

/// A right that an action needs.
enum Permission: Sendable, CaseIterable {
    case cancel, retry, hold, release, pause, remove, limit
    /// Changes an operation that waits, or repeats one as it is.
    case edit, rerun
    /// Enqueues other work than there was. Arguments may be a command that a worker runs.
    case enqueue
    /// Runs a schedule once more.
    case runSchedule
    case quietWorker
    /// Stops a worker, or changes its slots.
    case changeWorker
    /// A change of all operations at once.
    case all

    /// The lowest role with this right.
    var least: Role {
        switch self {
        case .cancel, .retry, .hold, .release, .pause, .edit, .rerun, .runSchedule, .quietWorker: .operate
        case .remove, .limit, .enqueue, .all, .changeWorker: .admin
        }
    }
}

extension Permission {
    /// - Throws: `PageFailure` if the visitor does not have the right.
    func require(_ visitor: Visitor?) throws(PageFailure) -> Visitor {
        guard let visitor, visitor.role.has(self) else {
            throw .forbidden("This needs the role \(least.rawValue). Nothing was changed.")
        }
        return visitor
    }
}

/// A person who uses the dashboard.
struct Visitor: Sendable, Equatable {
    /// The name that changes are recorded with.
    var name: String
    var role: Role
}
