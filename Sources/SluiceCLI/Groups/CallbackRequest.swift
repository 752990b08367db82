import Operations
import SluiceOperator

/// The request to make an operation a callback of a group.
package struct CallbackRequest: Sendable, Equatable {
    package var when: GroupCallback.When
    package var group: IDReference

    /// The option that makes this request.
    package var option: String {
        switch when {
        case .success: "--on-success"
        case .end: "--on-end"
        case .firstDeath: "--on-first-death"
        }
    }
}

extension EnqueueSettings {
    /// Refuses operations that cannot be in a group, and options that a callback cannot have.
    func checkGroups() throws(CLIError) {
        guard groups.isEmpty || !noTrack else {
            throw .usage("an operation in a group is always tracked", fix: "drop --no-track")
        }
        let count = Set(groups).count
        guard count <= GroupTerms.mostGroups else {
            throw .usage(
                "an operation enters at most \(GroupTerms.mostGroups) groups, not \(count)",
                fix: "put a group into another one: \(Program.name) group open NAME --group GROUP"
            )
        }
        guard let callback = callbacks.first else { return }
        guard callbacks.count == 1 else {
            throw .usage(
                "\(callbacks.map(\.option).joined(separator: " and ")) exclude each other",
                fix: "enqueue an operation for each"
            )
        }
        let others: [(Bool, String)] = [
            (!groups.isEmpty, "--group"), (!after.isEmpty, "--after"), (unique != nil, "--unique"),
            (limitKey != nil, "--limit-key"), (delay != nil, "--in"), (at != nil, "--at"), (noTrack, "--no-track"),
        ]
        guard let other = others.first(where: \.0)?.1 else { return }
        throw .usage("\(callback.option) and \(other) exclude each other", fix: "drop \(other)")
    }
}
