import Operations

/// The operations that a term names: the typed values of `id:`, or the operations that were found for `id:` and
/// `group:`.
package struct OperationNames: Sendable, Equatable {
    /// A value of `id:` that was not looked up, or for which no operation was found.
    package struct Typed: Sendable, Equatable {
        package let pattern: TextPattern
        /// The possible meanings, the likeliest first; empty for a pattern with `*`.
        package let meanings: [IDReference]

        init(_ value: TextPattern) {
            pattern = TextPattern(pieces: value.pieces.map { $0.uppercased() })
            meanings = value.exactText.flatMap { IDReference($0) }?.meanings ?? []
        }

        /// Whether only a search finds all matches, as for ends of ids and patterns.
        package var needsSearch: Bool { meanings.isEmpty || meanings.contains { $0.id == nil } }

        fileprivate func matches(_ id: OperationID, queue: String) -> Bool {
            if meanings.isEmpty {
                pattern.matches(id.description)
            } else {
                meanings.contains { $0.isName(of: id, queue: queue) }
            }
        }
    }

    /// Operations that were looked up, each with its queue.
    package var known: Set<DependencyName> = []
    package var typed: [Typed] = []

    package func matches(_ id: OperationID, queue: String) -> Bool {
        known.contains(DependencyName(id, queue: queue)) || typed.contains { $0.matches(id, queue: queue) }
    }
}

extension OperationQuery {
    /// The states in which an untracked operation has no record. Only a search then finds the operation by its id.
    private static let withoutRecord = OperationState.allCases.filter { !$0.isTerminal }

    /// The values of `id:` that were not looked up.
    package var typedNames: [OperationNames.Typed] {
        terms.flatMap { term -> [OperationNames.Typed] in
            if case .operations(let names) = term.condition { names.typed } else { [] }
        }
    }

    /// Replaces values of `id:` by the operations that were found.
    ///
    /// - Parameter find: returns the operations with a record that a value means; empty if no operation was found.
    package mutating func resolveNames(_ find: (OperationNames.Typed) -> Set<DependencyName>) {
        for index in terms.indices {
            guard case .operations(var names) = terms[index].condition else { continue }
            var open: [OperationNames.Typed] = []
            for typed in names.typed {
                let found = find(typed)
                names.known.formUnion(found)
                if found.isEmpty { open.append(typed) }
            }
            names.typed = open
            terms[index].condition = .operations(names)
            // Without a record, these ids can only belong to untracked operations that have not ended.
            if !terms[index].isNegated, names.known.isEmpty, !open.isEmpty, !open.contains(where: \.needsSearch) {
                terms.append(.states(Self.withoutRecord))
            }
        }
    }

    /// Replaces the groups that the query names by their members.
    ///
    /// - Parameter members: returns the members of a group. Called once for each group, as it is written.
    package mutating func resolveGroups(_ members: (String) async throws -> Set<DependencyName>) async throws {
        var known: [String: Set<DependencyName>] = [:]
        for index in terms.indices {
            guard case .groups(let groups) = terms[index].condition else { continue }
            var all: Set<DependencyName> = []
            for group in groups {
                let found = if let found = known[group] { found } else { try await members(group) }
                known[group] = found
                all.formUnion(found)
            }
            terms[index].condition = .operations(OperationNames(known: all))
        }
    }

    /// A set of operations that contains all matches; nil = a search is necessary.
    package var named: Set<DependencyName>? {
        var named: Set<DependencyName>?
        for term in terms where !term.isNegated {
            guard case .operations(let names) = term.condition, names.typed.isEmpty else { continue }
            named = named?.intersection(names.known) ?? names.known
        }
        return named
    }
}

extension OperationQuery.Term {
    /// Whether the term allows an operation. Terms that name no operations allow all.
    package func allows(_ id: OperationID, queue: String) -> Bool {
        if case .operations(let names) = condition { names.matches(id, queue: queue) != isNegated } else { true }
    }
}
