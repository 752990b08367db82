import Operations

/// The operations that a term names: `id:` as it is typed, or what was found for `id:` and `group:`.
package struct OperationNames: Sendable, Equatable {
    /// A value of `id:` that was not looked up, or not found.
    package struct Typed: Sendable, Equatable {
        package let pattern: TextPattern
        /// The possible meanings, the likeliest first; none = a pattern with `*`.
        package let meanings: [IDReference]

        init(_ value: TextPattern) {
            pattern = TextPattern(pieces: value.pieces.map { $0.uppercased() })
            meanings = value.exactText.flatMap { IDReference($0) }?.meanings ?? []
        }

        /// Whether only a search finds all that it may mean: ends of ids, and patterns.
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
    /// The states in which an untracked operation has no record, so that only a search finds it by id.
    private static let withoutRecord = OperationState.allCases.filter { !$0.isTerminal }

    /// The values of `id:` that were not looked up.
    package var typedNames: [OperationNames.Typed] {
        terms.flatMap { term -> [OperationNames.Typed] in
            if case .operations(let names) = term.condition { names.typed } else { [] }
        }
    }

    /// Puts the operations that were found in place of values of `id:`.
    ///
    /// - Parameter find: the operations with a record that a value means; empty = none.
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
            // If none has a record, at most untracked operations that have not ended have these ids.
            if !terms[index].isNegated, names.known.isEmpty, !open.isEmpty, !open.contains(where: \.needsSearch) {
                terms.append(.states(Self.withoutRecord))
            }
        }
    }

    /// Replaces the groups that the query names by their members.
    ///
    /// - Parameter members: called once for each group, as it is written.
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

    /// Operations among which are all that match; nil = they must be searched for.
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
    /// Whether the term, of the field `id`, holds for an operation.
    package func allows(_ id: OperationID, queue: String) -> Bool {
        if case .operations(let names) = condition { names.matches(id, queue: queue) != isNegated } else { true }
    }
}
