/// Suggests a similar word for a mistyped one.
package enum Suggestion {
    /// Returns the shortest candidate that begins with the word, or else the nearest one; nil if no candidate is near
    /// enough to be a typing error.
    package static func nearest(to word: String, among candidates: some Sequence<String>) -> String? {
        let candidates = Array(candidates)
        if let longer = shortest(beginningWith: word.lowercased(), among: candidates) { return longer }
        let limit = max(1, word.count / 3)
        let rated = candidates.map { (candidate: $0, distance: distance(word.lowercased(), $0.lowercased())) }
        let best = rated.filter { $0.distance <= limit }.min {
            ($0.distance, $0.candidate) < ($1.distance, $1.candidate)
        }
        return best?.candidate
    }

    /// Returns nil for a single letter, which could begin many candidates.
    private static func shortest(beginningWith word: String, among candidates: [String]) -> String? {
        guard word.drop(while: { $0 == "-" }).count > 1 else { return nil }
        return candidates.filter { $0.lowercased().hasPrefix(word) }.min { ($0.count, $0) < ($1.count, $1) }
    }

    /// The number of insertions, deletions, replacements and swaps of neighbors between two words.
    package static func distance(_ left: String, _ right: String) -> Int {
        let left = Array(left.unicodeScalars.prefix(64))
        let right = Array(right.unicodeScalars.prefix(64))
        guard !left.isEmpty, !right.isEmpty else { return max(left.count, right.count) }
        var beforeLast = [Int](repeating: 0, count: right.count + 1)
        var last = Array(0...right.count)
        for row in 1...left.count {
            var current = [row] + [Int](repeating: 0, count: right.count)
            for column in 1...right.count {
                let cost = left[row - 1] == right[column - 1] ? 0 : 1
                current[column] = min(last[column] + 1, current[column - 1] + 1, last[column - 1] + cost)
                let isSwap =
                    row > 1 && column > 1 && left[row - 1] == right[column - 2] && left[row - 2] == right[column - 1]
                if isSwap { current[column] = min(current[column], beforeLast[column - 2] + 1) }
            }
            (beforeLast, last) = (last, current)
        }
        return last[right.count]
    }
}
