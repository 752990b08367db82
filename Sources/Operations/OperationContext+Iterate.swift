import Foundation

extension OperationContext {
    /// Runs a body for each element of a sequence; a later run continues after the last finished element.
    ///
    /// ```swift
    /// try await context.iterate(users) { user in try await mailer.send(letter, to: user) }
    /// ```
    ///
    /// After each element, the checkpoint of the operation is the number of finished elements. A later run (after a
    /// failed attempt, a lost worker or a deploy) skips that many. So the sequence must have equal elements in an equal
    /// order in each run. Elements that ended in the last 250 ms before a worker was lost run again.
    ///
    /// Between two elements a requested cancel ends the operation. The operation also leaves its slot there if the
    /// worker stops, and after `slice` if other operations wait for a slot. In the second case the operation goes to
    /// the tail of its lane. Neither uses an attempt. To leave the slot, `iterate` throws: do not catch its error.
    ///
    /// An operation has one checkpoint: do not call `checkpoint` or a second `iterate` as well.
    ///
    /// - Parameters:
    ///   - elements: the elements, equal in each run.
    ///   - slice: the time in one run after which the operation leaves its slot to others that wait.
    ///   - isolation: the actor on which the body runs, by default the caller's.
    ///   - body: called for one element after the other. May run twice for one element.
    /// - Throws: the error of the body; `CancellationError`; `OperationsError` with `.refused` for an untracked
    ///   operation, which has no checkpoint; `DecodingError` if the stored checkpoint cannot be read as one of
    ///   `iterate`.
    public func iterate<Elements: Sequence>(
        _ elements: Elements,
        slice: Duration = SluiceDefaults.slice,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (Elements.Element) async throws -> Void
    ) async throws where Elements.Element: Sendable {
        var loop = try await Iteration<Int>(self, slice)
        guard !loop.isFinished else { return }
        var finished = loop.cursor ?? 0
        for element in elements.dropFirst(finished) {
            try loop.begin()
            try await body(element)
            finished += 1
            try loop.note(next: finished)
        }
        try loop.finish()
    }

    /// Runs a body for one cursor after the other, such as pages of unknown number; a later run continues at the last
    /// cursor.
    ///
    /// ```swift
    /// try await context.iterate(from: 1) { page in
    ///     let contacts = try await site.contacts(page: page)
    ///     try await store.save(contacts)
    ///     return contacts.isEmpty ? nil : page + 1
    /// }
    /// ```
    ///
    /// The checkpoint is the cursor of the next step. Between two steps the rules of `iterate(_:slice:isolation:_:)`
    /// apply.
    ///
    /// - Parameters:
    ///   - first: the cursor of the first run's first step.
    ///   - slice: the time in one run after which the operation leaves its slot to others that wait.
    ///   - isolation: the actor on which the body runs, by default the caller's.
    ///   - body: one step. Returns the cursor of the next step; nil = this step was the last. May run twice for one
    ///     cursor.
    /// - Throws: as `iterate(_:slice:isolation:_:)`; `OperationsError` with `.tooLarge` if the checkpoint with the
    ///   cursor has more than 64 KiB.
    public func iterate<Cursor: Codable & Sendable>(
        from first: Cursor,
        slice: Duration = SluiceDefaults.slice,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (Cursor) async throws -> Cursor?
    ) async throws {
        var loop = try await Iteration<Cursor>(self, slice)
        guard !loop.isFinished else { return }
        var cursor = loop.cursor ?? first
        while true {
            try loop.begin()
            guard let next = try await body(cursor) else { return try loop.finish() }
            try loop.note(next: next)
            cursor = next
        }
    }

    /// Runs a body for each element of an asynchronous sequence that can start after a cursor, such as rows by their
    /// id.
    ///
    /// ```swift
    /// try await context.iterate({ last in database.rows(after: last) }, cursor: \.id) { row in
    ///     try await index.add(row)
    /// }
    /// ```
    ///
    /// The checkpoint is the cursor of the last finished element. Between two elements the rules of
    /// `iterate(_:slice:isolation:_:)` apply.
    ///
    /// - Parameters:
    ///   - elements: makes the sequence of the elements after a cursor; nil = all elements.
    ///   - cursor: returns the cursor of an element.
    ///   - slice: the time in one run after which the operation leaves its slot to others that wait.
    ///   - isolation: the actor on which the body runs, by default the caller's.
    ///   - body: called for one element after the other. May run twice for one element.
    /// - Throws: as `iterate(_:slice:isolation:_:)`; the error of the sequence.
    public func iterate<Elements: AsyncSequence, Cursor: Codable & Sendable>(
        _ elements: (Cursor?) async throws -> Elements,
        cursor: (Elements.Element) -> Cursor,
        slice: Duration = SluiceDefaults.slice,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (Elements.Element) async throws -> Void
    ) async throws where Elements.Element: Sendable {
        var loop = try await Iteration<Cursor>(self, slice)
        guard !loop.isFinished else { return }
        var rest = try await elements(loop.cursor).makeAsyncIterator()
        while let element = try await rest.next(isolation: isolation) {
            try loop.begin()
            try await body(element)
            try loop.note(next: cursor(element))
        }
        // A sequence may end early instead of throwing when its task is cancelled.
        try Task.checkCancellation()
        try loop.finish()
    }
}

/// The reason for which a running operation should leave its slot.
package enum SlotWish: Sendable {
    /// The worker stops.
    case stopping
    /// Operations wait for a slot.
    case others
}

/// Thrown through a body to leave the slot between two elements.
package struct SlotLeft: Error, CustomStringConvertible {
    package let wish: SlotWish
    package var description: String { "the operation leaves its slot between two elements: let this error through" }
}

/// A loop that stores its place, and leaves its slot between two steps.
private struct Iteration<Cursor: Codable> {
    /// The stored checkpoint: the next cursor, or the note that the loop has finished.
    private struct Place: Codable {
        var next: Cursor?
        var isFinished: Bool?
    }

    private let context: OperationContext
    private let sliceEnd: ContinuousClock.Instant
    private var place: Place
    /// Each run finishes at least one element before it leaves the slot because of its slice.
    private var hasMoved = false

    var cursor: Cursor? { place.next }
    var isFinished: Bool { place.isFinished ?? false }

    init(_ context: OperationContext, _ slice: Duration, isolation: isolated (any Actor)? = #isolation) async throws {
        guard context.link.isTracked else {
            throw OperationsError(
                .refused,
                "iterate needs a tracked operation, because it stores a checkpoint: enqueue it without --no-track",
                id: context.id
            )
        }
        self.context = context
        sliceEnd = .now + slice.limited
        place = try await context.lastCheckpoint(as: Place.self) ?? Place()
    }

    /// Throws instead of beginning another element.
    func begin() throws {
        try Task.checkCancellation()
        guard let wish = context.link.slotWish(sliceIsOver: hasMoved && ContinuousClock.now >= sliceEnd) else { return }
        throw SlotLeft(wish: wish)
    }

    mutating func note(next: Cursor) throws { try store(Place(next: next)) }
    mutating func finish() throws { try store(Place(isFinished: true)) }

    private mutating func store(_ place: Place) throws {
        self.place = place
        hasMoved = true
        try context.checkpoint(place)
    }
}
