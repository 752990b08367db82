import Operations

extension QueueModel {
    /// Keeps the first sight of a build. Forgets the oldest one if there are too many.
    mutating func note(build: String) {
        guard builds[build] == nil else { return }
        builds[build] = now
        if builds.count > SluiceDefaults.buildsKept, let oldest = buildsInOrder.first { builds[oldest.build] = nil }
    }

    /// Builds, the oldest first.
    var buildsInOrder: [BuildSight] {
        builds.map { BuildSight($0.key, firstSeenAt: $0.value) }.sorted {
            if $0.firstSeenAt != $1.firstSeenAt { return $0.firstSeenAt < $1.firstSeenAt }
            return $0.build.utf8.lexicographicallyPrecedes($1.build.utf8)
        }
    }
}
