import ArgumentParser
import Operations
import Sluice

/// `--tree`: what depends on the named operations is meant as well.
package struct TreeFlag: ParsableArguments {
    @Flag(help: "Also what depends on these operations, and what depends on that; --dry-run shows how many they are.")
    var tree = false

    package init() {}

    func check(_ selection: Selection) throws(CLIError) {
        guard !tree || !selection.isQuery else {
            throw .usage("--tree is about operations that are named", fix: "drop -w and -t, or --tree")
        }
    }
}

/// Finds what depends on operations, directly or not.
struct DependencyTree: Sendable {
    /// The references with all that depends on them, and for each of the latter the named operation because of which it is among them.
    struct Expansion: Sendable {
        var references: [IDReference]
        var roots: [OperationID: OperationID] = [:]
    }

    private static let most = 20_000
    let client: SluiceClient
    /// Whether an operation that depends on the named ones is meant. The search does not go on behind those that are not.
    let isMeant: @Sendable (_ dependent: OperationDetail, _ named: Named) -> Bool

    /// The operations that are named.
    struct Named: Sendable {
        var ids: Set<OperationID>
        /// The operations with which these were cancelled.
        var marks: Set<OperationID>
    }

    /// For a cancel: what has not ended, the last first, so that nothing starts because something before it has ended.
    static func ofCancel(_ client: SluiceClient, _ references: [IDReference]) async throws -> Expansion {
        let tree = DependencyTree(client: client) { dependent, _ in
            !dependent.state.isTerminal && dependent.links.needCount > 0
        }
        var expansion = try await tree.expanded(references)
        expansion.references.reverse()
        return expansion
    }

    /// For a retry: what was cancelled because of these, or with them by `cancel --tree`.
    static func ofRetry(_ client: SluiceClient, _ references: [IDReference]) async throws -> [IDReference] {
        let tree = DependencyTree(client: client) { dependent, named in
            if named.ids.contains(dependent.id) { return true }
            guard dependent.state == .cancelled, let cancel = dependent.cancel else { return false }
            guard let mark = TreeMark(cancel.reason) else { return cancel.by == "dependency" }
            return named.ids.contains(mark.root) || named.marks.contains(mark.root)
        }
        // The last first: what waits again hears of the next end of these, also if that comes at once.
        return try await tree.expanded(references).references.reversed()
    }

    /// The references and, behind them, those to what depends on them; each once.
    private func expanded(_ references: [IDReference]) async throws -> Expansion {
        var expansion = Expansion(references: references)
        let roots = try await Locator(client).find(references).compactMap { finding in
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
                throw CLIError.usage(
                    "more than 20,000 operations depend on these; nothing was changed",
                    fix: "\(Program.name) cancel -w QUERY"
                )
            }
        }
        var seen: Set<IDReference> = []
        expansion.references.removeAll { !seen.insert($0).inserted }
        return expansion
    }

    private func read(_ roots: [Location]) async throws -> Named {
        var named = Named(ids: Set(roots.map(\.id)), marks: [])
        for (queue, roots) in Dictionary(grouping: roots, by: \.queue) {
            let details = try await client.broker.allDetails(roots.map(\.id), queue: queue)
            named.marks.formUnion(details.compactMap { ($0?.cancel).flatMap { TreeMark($0.reason) }?.root })
        }
        return named
    }

    private func dependents(of root: Location, _ named: Named) async throws -> [Location] {
        var seen: Set<Location> = [root]
        var layer = [root]
        var found: [Location] = []
        while !layer.isEmpty, found.count <= Self.most {
            var next: [Location] = []
            for location in layer {
                let edges = try await client.broker.edges(.dependents, of: location.id, queue: location.queue)
                let locations = edges.map { Location(queue: $0.queue ?? location.queue, id: $0.id) }
                next += locations.filter { seen.insert($0).inserted }
            }
            layer = try await meant(next, named)
            found += layer
        }
        return found
    }

    /// Those of these that are meant, in their order.
    private func meant(_ locations: [Location], _ named: Named) async throws -> [Location] {
        var meant: Set<Location> = []
        for (queue, locations) in Dictionary(grouping: locations, by: \.queue) {
            let details = try await client.broker.allDetails(locations.map(\.id), queue: queue)
            for detail in details.compactMap({ $0 }) where isMeant(detail, named) {
                meant.insert(Location(queue: queue, id: detail.id))
            }
        }
        return locations.filter { meant.contains($0) }
    }
}

/// How a reason of a cancel says that the operation was cancelled with another one, by `cancel --tree`: `with ID`, `with ID: wrong file`.
/// `retry --tree` takes back what has the mark of its operation.
struct TreeMark: Sendable {
    let root: OperationID

    init?(_ reason: String) {
        let words = reason.split(separator: " ", maxSplits: 2)
        guard words.count > 1, words[0] == "with", let root = OperationID(String(words[1].prefix(26))),
            words[1].dropFirst(26).allSatisfy({ $0 == ":" })
        else { return nil }
        self.root = root
    }

    static func reason(_ reason: String, with root: OperationID) -> String {
        reason.isEmpty ? "with \(root)" : "with \(root): \(reason)"
    }
}
