/// Operations that have a slot and wait for an executor task, oldest first, and the number of executor tasks.
///
/// While operations wait, at least one executor task is coming, and as many as are busy. Bodies that suspend soon
/// therefore get executor tasks of their own, however many other tasks want a thread. Bodies that do not suspend run
/// one after the other, on about as many executor tasks as the system has threads.
struct StartLine: Sendable {
    private var operations = Fifo<HeldOperation>()
    /// Executor tasks that were made and have not begun.
    private var coming = 0
    /// Executor tasks that have begun and not ended: they run a body, or are suspended in one.
    private var busy = 0

    mutating func append(_ operation: HeldOperation) { operations.append(operation) }

    /// Takes the first operation for a new executor task. Without an operation, the executor task ends.
    mutating func popForNewTask() -> HeldOperation? {
        coming -= 1
        guard let operation = operations.popFirst() else { return nil }
        busy += 1
        return operation
    }

    /// Takes the first operation for an executor task whose operation has ended. Without an operation, or if it may not
    /// continue, the executor task ends.
    mutating func popForTask(mayGoOn: Bool) -> HeldOperation? {
        guard mayGoOn, let operation = operations.popFirst() else {
            taskEnds()
            return nil
        }
        return operation
    }

    mutating func taskEnds() { busy -= 1 }

    /// Returns how many executor tasks to make now. From here on they count as coming.
    mutating func callTasks() -> Int {
        let missing = max(0, min(operations.count, max(1, busy)) - coming)
        coming += missing
        return missing
    }
}
