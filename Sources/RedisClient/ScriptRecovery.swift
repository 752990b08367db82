/// The state between the first NOSCRIPT and the second try of the refused calls.
///
/// Calls that were sent after the refused one are refused as well. New calls are held until all these answers have
/// arrived, so that the second try has the order of the first.
struct ScriptRecovery {
    private var isActive = false
    /// Replies to await before all refused calls are known.
    private var repliesAhead = 0
    private var refused: [CommandHandler.Pending] = []
    private var held: [CommandHandler.Pending] = []

    var calls: [CommandHandler.Pending] { refused + held }

    /// - Returns: true if the call is held until the recovery ends.
    mutating func holds(_ call: CommandHandler.Pending) -> Bool {
        guard isActive else { return false }
        held.append(call)
        return true
    }

    /// Takes a call that was answered with NOSCRIPT.
    /// - Parameter scriptsBehind: returns the number of replies up to that of the last script in flight.
    /// - Returns: false if it was refused too often.
    mutating func takes(_ call: CommandHandler.Pending, scriptsBehind: () -> Int) -> Bool {
        guard case .script(var script) = call.submission.payload, script.refusals < ScriptCall.maxRefusals else {
            return false
        }
        if !isActive {
            isActive = true
            // Plus the reply that is being handled.
            repliesAhead = scriptsBehind() + 1
        }
        script.refusals += 1
        var call = call
        call.submission.payload = .script(script)
        refused.append(call)
        return true
    }

    /// - Returns: true if all calls in flight were answered, so that the refused ones can be sent again.
    mutating func countReply() -> Bool {
        guard isActive else { return false }
        repliesAhead -= 1
        return repliesAhead <= 0
    }

    mutating func finish() -> (refused: [CommandHandler.Pending], held: [CommandHandler.Pending]) {
        defer { self = ScriptRecovery() }
        return (refused, held)
    }

    /// The scripts of these calls, without duplicates.
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
