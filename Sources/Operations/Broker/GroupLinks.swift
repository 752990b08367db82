/// What becomes of a group whose opener says nothing for the time of its lease.
public enum AbandonedGroupPolicy: String, Sendable, Codable, CaseIterable {
    /// It is closed: it ends when the members that it has have ended.
    case close
    /// It is cancelled, with its members.
    case cancel
}

/// Under which terms a group is open.
package struct GroupTerms: Sendable, Equatable {
    package var ifAbandoned: AbandonedGroupPolicy
    /// For how long its opener may say nothing.
    package var leaseMilliseconds: Int64

    package static let longestLease: Int64 = 7 * 86_400_000
    package static let mostMembers = 100_000
    /// Most callbacks of the first death of a group.
    package static let mostDeathCallbacks = 8
    /// Groups that an operation may enter with its enqueue.
    package static let mostGroups = 8
    /// The name of the operation that a group is.
    package static let name = "sluice.group"

    package init(ifAbandoned: AbandonedGroupPolicy, leaseMilliseconds: Int64) {
        (self.ifAbandoned, self.leaseMilliseconds) = (ifAbandoned, leaseMilliseconds)
    }

    /// It is the group of a run, which ends with that: people have not opened it.
    package var isOfRun: Bool { leaseMilliseconds == 0 }

    /// Reads what the scripts keep, "close 60000".
    package init?(stored: String) {
        let words = stored.split(separator: " ")
        guard words.count == 2, let policy = AbandonedGroupPolicy(rawValue: String(words[0])),
            let lease = Int64(words[1])
        else { return nil }
        self.init(ifAbandoned: policy, leaseMilliseconds: lease)
    }

    /// As the scripts keep it.
    package var stored: String { "\(ifAbandoned.rawValue) \(leaseMilliseconds)" }
}

/// A callback of a group in its queue.
package struct GroupCallback: Sendable, Equatable {
    package enum When: String, Sendable, CaseIterable {
        /// When the group has finished.
        case success
        /// When it has ended, however.
        case end
        /// When its first member is dead.
        case firstDeath

        var policy: NeedPolicy {
            switch self {
            case .success: .success
            case .end: .run
            case .firstDeath: .death
            }
        }
    }

    package var group: DependencyName
    package var when: When

    package init(_ when: When, of group: OperationID) { self.init(when, of: DependencyName(group)) }

    package init(_ when: When, of group: DependencyName) { (self.when, self.group) = (when, group) }
}

/// The run with which a group finishes, if it finishes.
package struct RunClaim: Sendable, Equatable {
    package var worker: WorkerID
    package var fence: Int64
    package var id: OperationID

    package init(worker: WorkerID, fence: Int64, id: OperationID) {
        (self.worker, self.fence, self.id) = (worker, fence, id)
    }
}

/// What becomes of an operation when one ends that it needs, as the scripts keep it.
package enum NeedPolicy: String, Sendable, CaseIterable {
    case cancel, run, hold
    /// It is a group, and needs its member.
    case member
    /// It is a callback of the group that it needs.
    case success, death

    package init(_ policy: DependencyFailurePolicy) {
        switch policy {
        case .cancel: self = .cancel
        case .run: self = .run
        case .hold: self = .hold
        }
    }

    /// As it is shown where there are no other words.
    package var shown: DependencyFailurePolicy {
        switch self {
        case .cancel: .cancel
        case .run, .member: .run
        case .hold, .success, .death: .hold
        }
    }

    /// What is said of an edge besides that there is one; nil = nothing.
    package var word: String? {
        switch self {
        case .cancel, .member: nil
        case .run, .hold: rawValue
        case .success: "on success"
        case .death: "on first death"
        }
    }

    /// Whether a dependency that ended, as finished or otherwise, does not hold up any more what needs it.
    package func isMet(byEnd isFinished: Bool) -> Bool {
        switch self {
        case .run, .member: true
        case .cancel, .hold, .success: isFinished
        case .death: false
        }
    }
}
