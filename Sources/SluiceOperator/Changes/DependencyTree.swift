import Operations
import Selectors

/// Finds direct and indirect dependents of operations.
package struct DependencyTree: Sendable {
    /// The references with all dependents. For each dependent, `roots` has the named operation that it depends on.
    package struct Expansion: Sendable {
        package var references: [IDReference]
        package var roots: [OperationID: OperationID] = [:]
    }

    private static let most = 20_000
    let broker: any MonitorBroker
    /// Whether the command applies to a dependent. The search does not visit the dependents of one that is left out.
    let isMeant: @Sendable (_ dependent: OperationDetail, _ named: Named) -> Bool

    /// The named operations.
    struct Named: Sendable {
        var ids: Set<OperationID>
        /// The operations whose `cancel --tree` also cancelled the named ones.
        var marks: Set<OperationID>
    }

    /// Expands a cancel by the dependents that have not ended. The last dependents come first, so no cancelled
    /// operation starts its dependents.
    package static func ofCancel(
        _ broker: any MonitorBroker,
        _ references: [IDReference]
    ) async throws -> Expansion {
        let tree = DependencyTree(broker: broker) { dependent, _ in
            !dependent.state.isTerminal && dependent.links.needCount > 0
        }
        var expansion = try await tree.expanded(references)
        expansion.references.reverse()
        return expansion
    }

    /// Expands a retry by the operations that were cancelled because of the named ones, or together with them by
    /// `cancel --tree`.
    package static func ofRetry(
        _ broker: any MonitorBroker,
        _ references: [IDReference]
    ) async throws -> [IDReference] {
        let tree = DependencyTree(broker: broker) { dependent, named in
            if named.ids.contains(dependent.id) { return true }
            guard dependent.state == .cancelled, let cancel = dependent.cancel else { return false }
            guard let mark = TreeMark(cancel.reason) else { return cancel.by == "dependency" }
            return named.ids.contains(mark.root) || named.marks.contains(mark.root)
        }
        // The last dependents come first. Each then waits again before its dependency can end, even if that end follows
        // at once.
        return try await tree.expanded(references).references.reversed()
    }

    /// The references, followed by references to the dependents; each once.
    private func expanded(_ references: [IDReference]) async throws -> Expansion {
        var expansion = Expansion(references: references)
        let roots = try await OperationLookup(broker).find(references).compactMap { finding in
            if case .found(let root) = finding { root } else { nil }
        }
        let named = try await read(roots)
        for root in roots {
            let found = try await dependents(of: root, named)
            expansion.references += found.map { IDReference(queue: $0.queue, .full($0.id)) }
            for location in found where !named.ids.contains(location.id) {
                expansion.roots[location.id] = expansion.roots[location.id] ?? root.id
            }
            guard expansion.references.count <= Self.most else {
                throw LookupFailure(
                    .tooMany,
                    "more than 20,000 operations depend on these; nothing was changed",
                    fix: .command("cancel -w QUERY")
                )
            }
        }
        var seen: Set<IDReference> = []
        expansion.references.removeAll { !seen.insert($0).inserted }
        return expansion
    }

    private func read(_ roots: [OperationAddress]) async throws -> Named {
        var named = Named(ids: Set(roots.map(\.id)), marks: [])
        for (queue, roots) in Dictionary(grouping: roots, by: \.queue) {
            let details = try await broker.allDetails(roots.map(\.id), queue: queue)
            named.marks.formUnion(details.compactMap { ($0?.cancel).flatMap { TreeMark($0.reason) }?.root })
        }
        return named
    }

    private func dependents(of root: OperationAddress, _ named: Named) async throws -> [OperationAddress] {
        var seen: Set<OperationAddress> = [root]
        var layer = [root]
        var found: [OperationAddress] = []
        while !layer.isEmpty, found.count <= Self.most {
            var next: [OperationAddress] = []
            for location in layer {
                let edges = try await broker.edges(.dependents, of: location.id, queue: location.queue)
                let locations = edges.map { OperationAddress(queue: $0.queue ?? location.queue, id: $0.id) }
                next += locations.filter { seen.insert($0).inserted }
            }
            layer = try await meant(next, named)
            found += layer
        }
        return found
    }

    /// The locations to which the command applies, in their order.
    private func meant(_ locations: [OperationAddress], _ named: Named) async throws -> [OperationAddress] {
        var meant: Set<OperationAddress> = []
        for (queue, locations) in Dictionary(grouping: locations, by: \.queue) {
            let details = try await broker.allDetails(locations.map(\.id), queue: queue)
            for detail in details.compactMap({ $0 }) where isMeant(detail, named) {
                meant.insert(OperationAddress(queue: queue, id: detail.id))
            }
        }
        return locations.filter { meant.contains($0) }
    }
}

/// The mark of `cancel --tree` in the reason of a cancel: `with ID`, `with ID: wrong file`.
///
/// `retry --tree` retries the operations with the mark of the named operation.
package struct TreeMark: Sendable {
    package let root: OperationID

    package init?(_ reason: String) {
        let words = reason.split(separator: " ", maxSplits: 2)
        guard words.count > 1, words[0] == "with", let root = OperationID(String(words[1].prefix(26))),
            words[1].dropFirst(26).allSatisfy({ $0 == ":" })
        else { return nil }
        self.root = root
    }

    package static func reason(_ reason: String, with root: OperationID) -> String {
        reason.isEmpty ? "with \(root)" : "with \(root): \(reason)"
    }
}
