import Operations

extension Extras {
    /// What `detail.lua` says of dependencies.
    var links: OperationNeeds {
        var links = OperationNeeds()
        links.needs = fields(after: "need ").compactMap { OperationNeeds.Need(name: $0.key, stored: $0.value) }
            .sorted(by: OperationNeeds.Need.isBefore)
        links.needCount = number("needCount").map { Int($0) } ?? 0
        links.unmetCount = number("unmet").map { Int($0) } ?? 0
        links.dependents = text("dependentIds").split(separator: " ").compactMap { OperationID(String($0)) }
        links.dependentCount = number("dependentCount").map { Int($0) } ?? 0
        links.dependentQueues = text("dependentQueues").split(separator: " ").map(String.init)
        return links
    }
}

extension OperationNeeds.Need {
    /// Reads "POLICY END STATE"; the end is `-` before the first one, and the state empty where there is no record.
    fileprivate init?(name: String, stored: [UInt8]) {
        let words = String(decoding: stored, as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, let name = DependencyName(name),
            let policy = DependencyFailurePolicy(rawValue: String(words[0]))
        else { return nil }
        let isMet = words[1] == "f" || words[1] != "-" && policy == .run
        let state = words[2].utf8.first.flatMap { OperationState(code: $0) }
        let dependency = Dependency(name.id, queue: name.queue, onFailure: policy)
        self.init(dependency, isMet: isMet, state: state, hasHeard: words[1] != "-")
    }
}
