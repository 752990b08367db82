/// The members of a JSON object, in order, each key once.
///
/// Keys are compared by their code points, as JSON does, and not by Swift's canonical equivalence. A look-up searches
/// few members, and uses a table for many. Setting a known key keeps its place.
package struct JSONObject: Sendable, Hashable {
    /// A member of an object.
    package struct Member: Sendable, Hashable {
        /// The key.
        package let key: String
        /// The value.
        package var value: JSONValue
    }

    /// The members in order.
    package private(set) var members: [Member] = []
    /// The position of each key in `members`; maintained from `indexedCount` members on.
    private var positions: [ExactKey: Int] = [:]

    /// With fewer members a search is faster than a table. Most objects are smaller.
    private static let indexedCount = 12

    /// Makes an object without members.
    package init() {}

    /// Makes an object that keeps the given order. A repeated key keeps its first place and takes its last value.
    /// - Parameter members: Keys and values.
    package init(_ members: some Sequence<(String, JSONValue)>) {
        for (key, value) in members { self[key] = value }
    }

    /// The number of members.
    package var count: Int { members.count }

    /// Whether the object has no members.
    package var isEmpty: Bool { members.isEmpty }

    /// The keys in order.
    package var keys: [String] { members.map(\.key) }

    /// The value of a key. Setting an unknown key appends it; setting `nil` removes the member.
    /// - Parameter key: The key.
    package subscript(key: String) -> JSONValue? {
        get { position(of: key).map { members[$0].value } }
        set {
            guard let newValue else { return remove(key) }
            if let position = position(of: key) { members[position].value = newValue } else { append(key, newValue) }
        }
    }

    /// Appends a member whose key is known to be new.
    mutating func append(_ key: String, _ value: JSONValue) {
        members.append(Member(key: key, value: value))
        if members.count == Self.indexedCount {
            index()
        } else if members.count > Self.indexedCount {
            positions[ExactKey(text: key)] = members.count - 1
        }
    }

    private mutating func remove(_ key: String) {
        guard let position = position(of: key) else { return }
        members.remove(at: position)
        index()
    }

    private mutating func index() {
        positions.removeAll()
        guard members.count >= Self.indexedCount else { return }
        for (position, member) in members.enumerated() { positions[ExactKey(text: member.key)] = position }
    }

    private func position(of key: String) -> Int? {
        let wanted = ExactKey(text: key)
        guard members.count >= Self.indexedCount else {
            return members.firstIndex { ExactKey(text: $0.key) == wanted }
        }
        return positions[wanted]
    }

    package static func == (left: JSONObject, right: JSONObject) -> Bool { left.members == right.members }

    package func hash(into hasher: inout Hasher) { hasher.combine(members) }
}

/// A key compared by code points: `é` as one code point and as two are different keys in JSON.
private struct ExactKey: Sendable, Hashable {
    let text: String

    static func == (left: ExactKey, right: ExactKey) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

    func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
