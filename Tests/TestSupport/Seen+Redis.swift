import RedisClient

extension Seen {
    /// Notes replies of Redis. Long replies, such as INFO and CLIENT LIST, are left out, because their numbers change
    /// by themselves.
    static func note(replies: [RedisValue]) {
        guard sightings != nil else { return }
        let text = "\(replies)"
        if text.count <= 200 { note(text) }
    }
}
