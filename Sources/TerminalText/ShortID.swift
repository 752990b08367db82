import Operations

/// Short forms of ids: the shortest suffixes, at least six characters long, that distinguish all shown ids.
package enum ShortID {
    package static let minimum = 6

    /// The number of characters that distinguish all ids.
    package static func length(for ids: some Collection<OperationID>) -> Int {
        let texts = Set(ids.map(\.description))
        for length in minimum..<OperationID.characterCount
        where Set(texts.map { $0.suffix(length) }).count == texts.count {
            return length
        }
        return OperationID.characterCount
    }

    /// The short form of an id: `…7QK2MX`, in ASCII `~7QK2MX`.
    package static func text(_ id: OperationID, length: Int, style: Style) -> String {
        length >= OperationID.characterCount ? id.description : style.cutMark + id.description.suffix(length)
    }
}
