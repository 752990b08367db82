import ArgumentParser

/// The groups of an operation to enqueue.
package struct GroupFlags: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Make it a member of this group, of any queue: ID or QUEUE/ID. May be repeated, up to 8 times.",
            valueName: "group"
        ),
        transform: { try IDReference(parsing: $0) }
    )
    var group: [IDReference] = []
    @Option(
        help: ArgumentHelp(
            "Start it when all members of this group have finished, in the group's queue.",
            valueName: "group"
        ),
        transform: { try IDReference(parsing: $0) }
    )
    var onSuccess: IDReference?
    @Option(
        help: ArgumentHelp("Start it when this group has ended, however.", valueName: "group"),
        transform: { try IDReference(parsing: $0) }
    )
    var onEnd: IDReference?
    @Option(
        help: ArgumentHelp(
            "Start it when the first member of this group is dead; at once if one has died already.",
            valueName: "group"
        ),
        transform: { try IDReference(parsing: $0) }
    )
    var onFirstDeath: IDReference?

    package init() {}

    var callbacks: [CallbackRequest] {
        [
            onSuccess.map { CallbackRequest(when: .success, group: $0) },
            onEnd.map { CallbackRequest(when: .end, group: $0) },
            onFirstDeath.map { CallbackRequest(when: .firstDeath, group: $0) },
        ].compactMap { $0 }
    }
}
