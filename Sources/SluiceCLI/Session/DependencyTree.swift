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
    private static let most = 20_000
    let client: SluiceClient
    /// Which of the operations that depend on others are meant. The search does not go on behind those that are not.
    let isMeant: @Sendable (OperationDetail) -> Bool

    /// For a cancel: what has not ended, the last first, so that nothing starts because something before it has ended.
    static func ofCancel(_ client: SluiceClient, _ references: [IDReference]) async throws -> [IDReference] {
        try await DependencyTree(client: client) { !$0.state.isTerminal && $0.links.needCount > 0 }.expanded(references)
            .reversed()
    }

    /// For a retry: what was cancelled because of these.
    static func ofRetry(_ client: SluiceClient, _ references: [IDReference]) async throws -> [IDReference] {
        try await DependencyTree(client: client) { $0.state == .cancelled && $0.cancel?.by == "dependency" }
            .expanded(references)
    }

    /// The references and, behind them, those to what depends on them; each once.
    private func expanded(_ references: [IDReference]) async throws -> [IDReference] {
        var all = references
        for (_, finding) in zip(references, try await Locator(client).find(references)) {
            guard case .found(let location) = finding else { continue }
            all += try await dependents(of: location)
            guard all.count <= Self.most else {
                throw CLIError.usage(
                    "more than 20,000 operations depend on these; nothing was changed",
                    fix: "\(Program.name) cancel -w QUERY"
                )
            }
        }
        var seen: Set<IDReference> = []
        return all.filter { seen.insert($0).inserted }
    }

    private func dependents(of location: Location) async throws -> [IDReference] {
        var seen: Set<Location> = [location]
        var layer = [location]
        var found: [Location] = []
        while !layer.isEmpty, found.count <= Self.most {
            var next: [Location] = []
            for location in layer {
                let edges = try await client.broker.edges(.dependents, of: location.id, queue: location.queue)
                let locations = edges.map { Location(queue: $0.queue ?? location.queue, id: $0.id) }
                next += locations.filter { seen.insert($0).inserted }
            }
            layer = try await meant(next)
            found += layer
        }
        return found.map { IDReference(queue: $0.queue, .full($0.id)) }
    }

    /// Those of these that are meant, in their order.
    private func meant(_ locations: [Location]) async throws -> [Location] {
        var meant: Set<Location> = []
        for (queue, locations) in Dictionary(grouping: locations, by: \.queue) {
            let details = try await client.broker.allDetails(locations.map(\.id), queue: queue)
            for detail in details.compactMap({ $0 }).filter(isMeant) {
                meant.insert(Location(queue: queue, id: detail.id))
            }
        }
        return locations.filter { meant.contains($0) }
    }
}
