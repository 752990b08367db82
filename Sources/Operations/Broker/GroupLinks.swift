/// The policy for a group whose opener is silent for the time of its lease.
public enum AbandonedGroupPolicy: String, Sendable, Codable, CaseIterable {
    /// The group is closed: it ends when its present members have ended.
    case close
    /// The group is cancelled, with its members.
    case cancel
}

/// The terms under which a group is open.
package struct GroupTerms: Sendable, Equatable {
    package var ifAbandoned: AbandonedGroupPolicy
    /// How long the opener may be silent.
    package var leaseMilliseconds: Int64

    package static let longestLease: Int64 = 7 * 86_400_000
    package static let mostMembers = 100_000
    /// The most callbacks for the first death in a group.
    package static let mostDeathCallbacks = 8
    /// The most groups that an operation may enter with its enqueue.
    package static let mostGroups = 8
    /// The operation name of a group.
    package static let name = "sluice.group"

    package init(ifAbandoned: AbandonedGroupPolicy, leaseMilliseconds: Int64) {
        (self.ifAbandoned, self.leaseMilliseconds) = (ifAbandoned, leaseMilliseconds)
    }

    /// Whether this is the group of a run, which ends with the run. No client opened it.
    package var isOfRun: Bool { leaseMilliseconds == 0 }

    /// Reads the text that scripts store, such as "close 60000".
    package init?(stored: String) {
        let words = stored.split(separator: " ")
        guard words.count == 2, let policy = AbandonedGroupPolicy(rawValue: String(words[0])),
            let lease = Int64(words[1])
        else { return nil }
        self.init(ifAbandoned: policy, leaseMilliseconds: lease)
    }

    /// The text that scripts store.
    package var stored: String { "\(ifAbandoned.rawValue) \(leaseMilliseconds)" }
}

/// The callback of a group, in the group's queue.
package struct GroupCallback: Sendable, Equatable {
    package enum When: String, Sendable, CaseIterable {
        /// The group has finished.
        case success
        /// The group has ended, in any state.
        case end
        /// The first member of the group is dead.
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

/// The claim of a run; a group that belongs to the run ends with it.
package struct RunClaim: Sendable, Equatable {
    package var worker: WorkerID
    package var fence: Int64
    package var id: OperationID

    package init(worker: WorkerID, fence: Int64, id: OperationID) {
        (self.worker, self.fence, self.id) = (worker, fence, id)
    }
}

/// How the end of a dependency affects the dependent, as scripts store it.
package enum NeedPolicy: String, Sendable, CaseIterable {
    case cancel, run, hold
    /// The dependent is a group, and the dependency is its member.
    case member
    /// The dependent is a callback, and the dependency is its group.
    case success, death

    package init(_ policy: DependencyFailurePolicy) {
        switch policy {
        case .cancel: self = .cancel
        case .run: self = .run
        case .hold: self = .hold
        }
    }

    /// The closest public policy, for displays without words for the others.
    package var shown: DependencyFailurePolicy {
        switch self {
        case .cancel: .cancel
        case .run, .member: .run
        case .hold, .success, .death: .hold
        }
    }

    /// The words for the policy next to a dependency; nil = no words.
    package var word: String? {
        switch self {
        case .cancel, .member: nil
        case .run, .hold: rawValue
        case .success: "on success"
        case .death: "on first death"
        }
    }

    /// Returns whether a dependency that ended, as finished or otherwise, no longer blocks its dependent.
    package func isMet(byEnd isFinished: Bool) -> Bool {
        switch self {
        case .run, .member: true
        case .cancel, .hold, .success: isFinished
        case .death: false
        }
    }
}
