import Operations

/// Short forms of ids: the shortest suffix, at least six characters, that tells all of the shown ones apart.
package enum ShortID {
    package static let minimum = 6

    /// How many characters are needed.
    package static func length(for ids: some Collection<OperationID>) -> Int {
        let texts = Set(ids.map(\.description))
        for length in minimum..<OperationID.characterCount
        where Set(texts.map { $0.suffix(length) }).count == texts.count {
            return length
        }
        return OperationID.characterCount
    }

    /// `…7QK2MX`, in ASCII `~7QK2MX`.
    package static func text(_ id: OperationID, length: Int, style: Style) -> String {
        length >= OperationID.characterCount ? id.description : style.cutMark + id.description.suffix(length)
    }
}
