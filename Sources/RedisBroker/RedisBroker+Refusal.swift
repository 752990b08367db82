import Operations
import RedisClient

extension RedisBroker {
    /// Explains why Redis refuses a channel, with the access rule that is missing and the command that adds it.
    func refusal(of channel: String, _ error: RedisServerError) -> OperationsError {
        let message = "Redis refuses SUBSCRIBE to \(channel): \(error.message)"
        guard error.code == .noPermission else { return OperationsError(.unavailable, message) }
        // Redis 6.2 to 8 and Valkey use this text.
        let rule = error.message.contains("'subscribe' command") ? "+subscribe" : "'&\(keys.prefixPattern)'"
        let user = ShellWords.quoted(link.endpoint.user ?? "default")
        return OperationsError(.denied, "\(message): allow it with redis-cli ACL SETUSER \(user) \(rule)")
    }
}
