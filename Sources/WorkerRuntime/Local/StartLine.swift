/// Operations that have a slot and wait for an executor task, oldest first, and how many executor tasks there are.
///
/// Where operations wait, one executor task is on its way, or as many as have come and not ended. So bodies that suspend soon have executor tasks of
/// their own, however many other tasks want a thread; and bodies that do not are run one after the other by about as many as there are
/// threads.
struct StartLine: Sendable {
    private var operations = Fifo<HeldOperation>()
    /// Executor tasks whose tasks were made and have not begun.
    private var coming = 0
    /// Executor tasks that have come and not ended: they run something, or are suspended in it.
    private var busy = 0

    mutating func append(_ operation: HeldOperation) { operations.append(operation) }

    /// Takes the first one for an executor task that has come. If there is none, the executor task ends.
    mutating func popForNewTask() -> HeldOperation? {
        coming -= 1
        guard let operation = operations.popFirst() else { return nil }
        busy += 1
        return operation
    }

    /// Takes the first one for an executor task whose operation has ended. If there is none, or it may not go on, the executor task ends.
    mutating func popForTask(mayGoOn: Bool) -> HeldOperation? {
        guard mayGoOn, let operation = operations.popFirst() else {
            taskEnds()
            return nil
        }
        return operation
    }

    mutating func taskEnds() { busy -= 1 }

    /// How many executor tasks are to be made now. They count as coming from here on.
    mutating func callTasks() -> Int {
        let missing = max(0, min(operations.count, max(1, busy)) - coming)
        coming += missing
        return missing
    }
}
