import Operations

extension Extras {
    /// The dependencies as `detail.lua` returns them.
    var links: OperationNeeds {
        var links = OperationNeeds()
        links.needs = fields(after: "need ").compactMap { OperationNeeds.Need(name: $0.key, stored: $0.value) }
            .sorted(by: OperationNeeds.Need.isBefore)
        links.isOpen = fields(after: "need ").contains { $0.key == "+" }
        links.needCount = max(0, (number("needCount").map { Int($0) } ?? 0) - (links.isOpen ? 1 : 0))
        links.unmetCount = number("unmet").map { Int($0) } ?? 0
        links.dependents = text("dependentIds").split(separator: " ").compactMap { OperationID(String($0)) }
        links.dependentCount = number("dependentCount").map { Int($0) } ?? 0
        links.dependentQueues = text("dependentQueues").split(separator: " ").map(String.init)
        links.group = GroupTerms(stored: text("group"))
        links.missCount = number("misses").map { Int($0) } ?? 0
        return links
    }
}

extension OperationNeeds.Need {
    /// Reads "POLICY END STATE". END is `-` until the dependency first ends; STATE is empty if it has no record.
    fileprivate init?(name: String, stored: [UInt8]) {
        let words = String(decoding: stored, as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, let name = DependencyName(name),
            let policy = NeedPolicy(rawValue: String(words[0]))
        else { return nil }
        let isMet = words[1] != "-" && policy.isMet(byEnd: words[1] == "f")
        let state = words[2].utf8.first.flatMap { OperationState(code: $0) }
        self.init(name, policy, isMet: isMet, state: state, hasHeard: words[1] != "-")
    }
}
