/// A build of an app that workers of a queue have reported.
package struct BuildSight: Sendable, Equatable {
    package var build: String
    /// When a worker of this build first registered in the queue; milliseconds of server time.
    package var firstSeenAt: Int64

    package init(_ build: String, firstSeenAt: Int64) {
        self.build = build
        self.firstSeenAt = firstSeenAt
    }
}
