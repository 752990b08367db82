/// Operations that have a slot and wait for a runner, oldest first, and how many runners there are.
///
/// Where somebody waits, one runner is on its way, or as many as have come and not ended. So bodies that suspend soon have runners of
/// their own, however many other tasks want a thread; and bodies that do not are run one after the other by about as many as there are
/// threads.
struct StartLine: Sendable {
    private var operations = Fifo<HeldOperation>()
    /// Runners whose tasks were made and have not begun.
    private var coming = 0
    /// Runners that have come and not ended: they run something, or are suspended in it.
    private var busy = 0

    mutating func append(_ operation: HeldOperation) { operations.append(operation) }

    /// Takes the first one for a runner that has come. If there is none, the runner ends.
    mutating func popForNewRunner() -> HeldOperation? {
        coming -= 1
        guard let operation = operations.popFirst() else { return nil }
        busy += 1
        return operation
    }

    /// Takes the first one for a runner whose operation has ended. If there is none, or it may not go on, the runner ends.
    mutating func popForRunner(mayGoOn: Bool) -> HeldOperation? {
        guard mayGoOn, let operation = operations.popFirst() else {
            runnerEnds()
            return nil
        }
        return operation
    }

    mutating func runnerEnds() { busy -= 1 }

    /// How many runners are to be made now. They count as coming from here on.
    mutating func callRunners() -> Int {
        let missing = max(0, min(operations.count, max(1, busy)) - coming)
        coming += missing
        return missing
    }
}
