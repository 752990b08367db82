/// Collects the room that answered calls free, so that a queue is updated once per read and not once per reply.
struct ReleasedRoom {
    struct Room {
        var commands = 0
        var bytes = 0
    }

    private var queue: CommandQueue?
    private var room = Room()

    /// - Returns: another queue and its room, which must be freed now.
    mutating func add(_ submission: Submission, _ queue: CommandQueue) -> (CommandQueue, Room)? {
        let previous = self.queue === queue ? nil : take()
        self.queue = queue
        room.commands += submission.replyCount
        room.bytes += submission.weight
        return previous
    }

    mutating func take() -> (CommandQueue, Room)? {
        guard let queue, room.commands > 0 else { return nil }
        defer { room = Room() }
        return (queue, room)
    }
}
