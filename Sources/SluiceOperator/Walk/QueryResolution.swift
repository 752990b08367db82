import Operations
import Selectors

extension MonitorBroker {
    /// Replaces names in a query by what Redis knows: operations for ids and groups, ids for names of workers.
    ///
    /// All tools resolve queries with this method, so that a query finds the same operations everywhere.
    ///
    /// - Parameter snapshot: the namespace, if it was read just before; nil = read it if the query needs it.
    /// - Throws: `LookupFailure` if a value matches no worker or group, or several.
    package func resolving(
        _ query: OperationQuery,
        snapshot: NamespaceSnapshot? = nil
    ) async throws -> OperationQuery {
        var query = query
        try await resolveWorkers(of: &query, snapshot)
        try await query.resolveGroups { try await membersOfGroup($0) }
        let typed = query.typedNames
        if !typed.isEmpty {
            let found = try await lookUp(typed)
            query.resolveNames { typed in found(typed) }
        }
        return query
    }

    private func resolveWorkers(of query: inout OperationQuery, _ snapshot: NamespaceSnapshot?) async throws {
        guard query.terms.contains(where: { $0.field == .worker }) else { return }
        let now = if let snapshot { snapshot } else { try await namespaceSnapshot(executingRows: 0) { .zero } }
        let present = WorkerLookup(workers: WorkerSummary.merge(now.queues))
        for index in query.terms.indices where query.terms[index].field == .worker {
            guard case .texts(let values) = query.terms[index].condition else { continue }
            // Lost workers are read only if a name matches no present worker.
            var ids = try? values.flatMap(present.ids)
            if ids == nil { ids = try values.flatMap(try await WorkerLookup(now, self).ids) }
            query.terms[index].condition = .texts((ids ?? []).map(TextPattern.init(exactly:)))
        }
    }

    /// Returns the members of the group with this name, each with its queue.
    private func membersOfGroup(_ text: String) async throws -> Set<DependencyName> {
        guard let reference = IDReference(text) else { throw LookupFailure(noGroup: text) }
        switch try await OperationLookup(self).find([reference])[0] {
        case .notFound: throw LookupFailure(noGroup: reference.shown)
        case .ambiguous(let places):
            throw LookupFailure(
                .ambiguous,
                "\(reference.shown) matches \(places.count) operations",
                notes: places.prefix(5).map { "\($0.queue)/\($0.id)" },
                fix: .advice("use the whole id")
            )
        case .found(let place):
            guard let detail = try await details([place.id], queue: place.queue)[0] else {
                throw LookupFailure(noGroup: reference.shown)
            }
            guard detail.isGroup else {
                let message = "operation \(place.id) in queue \(place.queue) is not a group"
                throw LookupFailure(.notFound, message, fix: .command("group ls"))
            }
            return try await members(of: place.id, queue: place.queue)
        }
    }

    /// Reads the records that values of `id:` may mean, all in one round. Ends of ids are not searched for.
    private func lookUp(
        _ typed: [OperationNames.Typed]
    ) async throws -> (OperationNames.Typed) -> Set<DependencyName> {
        let (queues, _) = try await reachable(try await queues())
        let meanings = Set(typed.flatMap(\.meanings).filter { $0.id != nil })
        let places = try await OperationLookup(self).findRecords(meanings, queues: queues)
        return { typed in
            let found = typed.meanings.lazy.compactMap { places[$0] }.first ?? []
            return Set(found.map { DependencyName($0.id, queue: $0.queue) })
        }
    }
}

extension LookupFailure {
    fileprivate init(noGroup name: String) {
        self.init(
            .notFound,
            "no operation \(name), so no group",
            notes: [
                "searched: executing, due, blocked and dead operations, and the newest \(OperationLookup.newest) of each other place"
            ],
            fix: .command("group ls")
        )
    }
}
