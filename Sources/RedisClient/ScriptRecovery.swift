/// What happens between the first NOSCRIPT and the moment when the refused calls are sent again.
///
/// Calls that are in flight behind the refused one are refused too; their answers are awaited, and calls that come
/// meanwhile are held, so that the second try leaves in the order of the first.
struct ScriptRecovery {
    private var isActive = false
    /// Replies still to come before everything refused is known.
    private var repliesAhead = 0
    private var refused: [CommandHandler.Pending] = []
    private var held: [CommandHandler.Pending] = []

    var calls: [CommandHandler.Pending] { refused + held }

    /// - Returns: true if the call waits here for the end of the recovery.
    mutating func holds(_ call: CommandHandler.Pending) -> Bool {
        guard isActive else { return false }
        held.append(call)
        return true
    }

    /// Takes a call that was answered with NOSCRIPT.
    /// - Parameter scriptsBehind: how many replies end with that of the last script in flight.
    /// - Returns: false if it was refused too often.
    mutating func takes(_ call: CommandHandler.Pending, scriptsBehind: () -> Int) -> Bool {
        guard case .script(var script) = call.submission.payload, script.refusals < ScriptCall.maxRefusals else {
            return false
        }
        if !isActive {
            isActive = true
            // One more for the reply that is being handled.
            repliesAhead = scriptsBehind() + 1
        }
        script.refusals += 1
        var call = call
        call.submission.payload = .script(script)
        refused.append(call)
        return true
    }

    /// - Returns: true if everything in flight has been answered and the refused calls may go again.
    mutating func countReply() -> Bool {
        guard isActive else { return false }
        repliesAhead -= 1
        return repliesAhead <= 0
    }

    mutating func finish() -> (refused: [CommandHandler.Pending], held: [CommandHandler.Pending]) {
        defer { self = ScriptRecovery() }
        return (refused, held)
    }

    /// Each script of these calls once.
    static func distinct(_ calls: [CommandHandler.Pending]) -> [RedisScript] {
        var seen: Set<String> = []
        return calls.compactMap { pending in
            guard case .script(let call) = pending.submission.payload, seen.insert(call.script.name).inserted else {
                return nil
            }
            return call.script
        }
    }
}
