// The messages between client and server: JSON, checked on both sides.

/// A contact, as the server stores it.
struct Contact: Codable, Sendable, Hashable {
    let id: String
    /// Grows with every change of any contact.
    let sequence: Int
    let name: String
}

/// A request for changes.
struct PageRequest: Codable, Sendable, Hashable {
    /// The sequence of the last known change; 0 = none.
    let after: Int
    let limit: Int

    func validate() throws(InvalidBody) {
        try require(after >= 0, "\"after\" is \(after)")
        try require((1...500).contains(limit), "\"limit\" is \(limit), expected 1 to 500")
    }
}

struct Page: Codable, Sendable, Hashable {
    let contacts: [Contact]
    /// The value of `after` for the next request.
    let next: Int
    let hasNext: Bool

    /// Checks whether the page can answer a request. An invalid page would lose contacts, or the client would request
    /// it endlessly.
    func validate(as answer: PageRequest) throws(InvalidBody) {
        try require(contacts.count <= answer.limit, "\(contacts.count) contacts, \(answer.limit) were asked for")
        var last = answer.after
        for contact in contacts {
            try require(contact.sequence > last, "sequence \(contact.sequence) after \(last)")
            try require(!contact.id.isEmpty && !contact.name.isEmpty, "a contact without id or name")
            last = contact.sequence
        }
        try require(next == last, "\"next\" is \(next), expected \(last)")
        try require(!hasNext || !contacts.isEmpty, "an empty page that says there is more")
    }
}

/// A name that was changed locally.
struct Change: Codable, Sendable, Hashable {
    let id: String
    let name: String
}

struct Changes: Codable, Sendable, Hashable {
    let changes: [Change]

    func validate() throws(InvalidBody) {
        try require(changes.count <= 500, "\(changes.count) changes")
        try require(changes.allSatisfy { !$0.id.isEmpty && !$0.name.isEmpty }, "a change without id or name")
    }
}

struct Accepted: Codable, Sendable, Hashable {
    let accepted: Int
}

struct Refusal: Codable, Sendable, Hashable {
    let error: String
}

/// JSON with unexpected content.
struct InvalidBody: Error, Sendable, Hashable {
    let reason: String
}

private func require(_ condition: Bool, _ reason: @autoclosure () -> String) throws(InvalidBody) {
    if !condition { throw InvalidBody(reason: reason()) }
}
