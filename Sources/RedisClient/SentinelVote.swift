/// The sentinels' answers so far to the question for the master. A pure value.
///
/// The highest epoch wins. Each failover gets a new epoch, and a sentinel that is cut off or slow keeps the old one.
/// Among equal epochs, the address with the most votes wins, then the address that was named first.
struct SentinelVote {
    typealias Host = RedisEndpoint.Host
    private typealias Name = (host: Host, epoch: Int, votes: Int)

    private let sentinelCount: Int
    private var answers = 0
    private var names: [Name] = []

    init(sentinelCount: Int) { self.sentinelCount = sentinelCount }

    /// - Parameter epoch: the epoch of the failover that made this server the master; 0 = unknown.
    mutating func add(_ host: Host, epoch: Int) {
        answers += 1
        guard let index = names.firstIndex(where: { $0.host == host }) else { return names.append((host, epoch, 1)) }
        names[index].votes += 1
        names[index].epoch = max(names[index].epoch, epoch)
    }

    /// Notes a sentinel that could not be asked or knows no master.
    mutating func addNothing() { answers += 1 }

    /// Whether all sentinels have answered.
    var isComplete: Bool { answers == sentinelCount }

    /// The addresses, most credible first.
    var ranking: [Host] { ranked.map(\.host) }

    /// The most credible address, if more than half of all sentinels name it.
    var majority: Host? {
        guard let first = ranked.first, first.votes > sentinelCount / 2 else { return nil }
        return first.host
    }

    private var ranked: [Name] {
        names.enumerated().sorted { left, right in
            // Higher epochs and votes first, but earlier places first.
            (left.element.epoch, left.element.votes, right.offset) > (
                right.element.epoch, right.element.votes, left.offset
            )
        }.map(\.element)
    }
}
