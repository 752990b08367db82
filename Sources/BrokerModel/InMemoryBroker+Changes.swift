import Operations

extension InMemoryBroker {
    package func addChange(_ id: OperationID, definition: [UInt8], progress: [UInt8]) async throws -> ChangeAdding {
        state.withLock { state in
            if state.changes.contains(where: { $0.id == id }) { return .known }
            guard state.changes.count(where: { !$0.isEnded }) < StoredChange.openLimit else { return .full }
            while state.changes.count >= StoredChange.kept, let old = state.changes.firstIndex(where: \.isEnded) {
                state.changes.remove(at: old)
            }
            let change = StoredChange(
                id: id,
                createdAt: time.milliseconds,
                definition: definition,
                progress: progress
            )
            state.changes.append(change)
            state.changes.sort { $0.id.description < $1.id.description }
            return .stored
        }
    }

    package func nextChange(leaving left: Set<OperationID>) async throws -> StoredChange? {
        state.withLock { state in
            let now = time.milliseconds
            return state.changes.first { !$0.isEnded && $0.leaseEndsAt <= now && !left.contains($0.id) }
        }
    }

    package func takeChange(_ id: OperationID, fence: Int64, leaseMilliseconds: Int64) async throws -> StoredChange? {
        state.withLock { state in
            let now = time.milliseconds
            let index = state.changes.firstIndex { change in
                change.id == id && !change.isEnded && change.leaseEndsAt <= now && change.fence == fence
            }
            guard let index else { return nil }
            state.changes[index].fence += 1
            state.changes[index].leaseEndsAt = now + leaseMilliseconds
            return state.changes[index]
        }
    }

    package func saveChange(
        _ id: OperationID,
        fence: Int64,
        progress: [UInt8],
        isEnd: Bool,
        leaseMilliseconds: Int64
    ) async throws -> ChangeSaving {
        state.withLock { state in
            let index = state.changes.firstIndex { $0.id == id && !$0.isEnded && $0.fence == fence }
            guard let index else { return .lost }
            state.changes[index].progress = progress
            state.changes[index].isEnded = isEnd
            state.changes[index].leaseEndsAt = time.milliseconds + leaseMilliseconds
            return state.changes[index].stopper == nil ? .stored : .stopAsked
        }
    }

    package func stopChange(_ id: OperationID, by: String) async throws -> Bool {
        state.withLock { state in
            guard let index = state.changes.firstIndex(where: { $0.id == id && !$0.isEnded }) else { return false }
            if state.changes[index].stopper == nil { state.changes[index].stopper = by }
            return true
        }
    }

    package func removeChange(_ id: OperationID) async throws -> Bool {
        state.withLock { state in
            let count = state.changes.count
            state.changes.removeAll { $0.id == id }
            return state.changes.count < count
        }
    }

    package func changes(_ id: OperationID?) async throws -> StoredChanges {
        state.withLock { state in
            let changes = state.changes.reversed().filter { id == nil || $0.id == id }
            return StoredChanges(time: time.milliseconds, changes: Array(changes))
        }
    }
}
