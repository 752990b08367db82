import Foundation

extension OperationContext {
    /// Runs a body for each element of a sequence, and goes on behind the last finished one in a later run.
    ///
    /// ```swift
    /// try await context.iterate(users) { user in try await mailer.send(letter, to: user) }
    /// ```
    ///
    /// After each element the operation's checkpoint is the number of finished ones. A later run, after a failed attempt, a lost worker or a
    /// deploy, leaves out as many: the sequence must have the same elements in the same order again. Elements that ended in the last 250 ms
    /// before a worker was lost are done again.
    ///
    /// Between two elements a requested cancel ends the operation. There the operation also leaves its slot, without a used attempt: when the
    /// worker stops; and after `slice`, if other operations wait for a slot, to the tail of its lane. To do so, `iterate` throws: let its error
    /// through.
    ///
    /// An operation has one checkpoint: call neither `checkpoint` nor a second `iterate` beside this.
    ///
    /// - Parameters:
    ///   - elements: the elements, the same in each run.
    ///   - slice: after this time in one run the operation leaves its slot to others that wait.
    ///   - isolation: where the body runs: the actor of the caller.
    ///   - body: called for one element after the other. It may run twice for the same one.
    /// - Throws: what the body throws; `CancellationError`; `OperationsError` with `.refused` for an untracked operation, which has no
    ///   checkpoint; `DecodingError` if the operation's checkpoint is none of `iterate`.
    public func iterate<Elements: Sequence>(
        _ elements: Elements,
        slice: Duration = Defaults.slice,
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

    /// Runs a body for one cursor after the other, and goes on with the last one in a later run: for pages of unknown number.
    ///
    /// ```swift
    /// try await context.iterate(from: 1) { page in
    ///     let contacts = try await site.contacts(page: page)
    ///     try await store.save(contacts)
    ///     return contacts.isEmpty ? nil : page + 1
    /// }
    /// ```
    ///
    /// The checkpoint is the cursor of the next step. See `iterate(_:slice:isolation:_:)` for what happens between two steps.
    ///
    /// - Parameters:
    ///   - first: where the first run begins.
    ///   - slice: after this time in one run the operation leaves its slot to others that wait.
    ///   - isolation: where the body runs: the actor of the caller.
    ///   - body: one step. Returns the cursor of the next one; nil = that was the last. It may run twice for the same cursor.
    /// - Throws: as `iterate(_:slice:isolation:_:)`; `OperationsError` with `.tooLarge` for a cursor of more than 64 KiB.
    public func iterate<Cursor: Codable & Sendable>(
        from first: Cursor,
        slice: Duration = Defaults.slice,
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

    /// Runs a body for each element of an asynchronous sequence that can begin behind a cursor, such as rows by their id.
    ///
    /// ```swift
    /// try await context.iterate({ last in database.rows(after: last) }, cursor: \.id) { row in try await index.add(row) }
    /// ```
    ///
    /// The checkpoint is the cursor of the last finished element. See `iterate(_:slice:isolation:_:)` for what happens between two elements.
    ///
    /// - Parameters:
    ///   - elements: makes the elements behind a cursor; nil = all of them.
    ///   - cursor: the cursor of an element.
    ///   - slice: after this time in one run the operation leaves its slot to others that wait.
    ///   - isolation: where the body runs: the actor of the caller.
    ///   - body: called for one element after the other. It may run twice for the same one.
    /// - Throws: as `iterate(_:slice:isolation:_:)`; what the sequence throws.
    public func iterate<Elements: AsyncSequence, Cursor: Codable & Sendable>(
        _ elements: (Cursor?) async throws -> Elements,
        cursor: (Elements.Element) -> Cursor,
        slice: Duration = Defaults.slice,
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

/// Who would rather have the slot of a running operation.
package enum SlotWish: Sendable {
    /// The worker stops.
    case stopping
    /// Operations wait for a slot.
    case others
}

/// Thrown through a body that leaves its slot between two elements.
package struct SlotLeft: Error, CustomStringConvertible {
    package let wish: SlotWish
    package var description: String { "the operation leaves its slot between two elements: let this error through" }
}

/// A loop that stores where it is, and leaves its slot where it may.
private struct Iteration<Cursor: Codable> {
    /// What is stored: where to go on, and in the end that there is nothing left.
    private struct Place: Codable {
        var next: Cursor?
        var isFinished: Bool?
    }

    private let context: OperationContext
    private let sliceEnd: ContinuousClock.Instant
    private var place: Place
    /// Each run moves on by an element at least.
    private var hasMoved = false

    var cursor: Cursor? { place.next }
    var isFinished: Bool { place.isFinished ?? false }

    init(_ context: OperationContext, _ slice: Duration, isolation: isolated (any Actor)? = #isolation) async throws {
        guard context.link.isTracked else {
            throw OperationsError(
                .refused,
                "iterate needs a tracked operation, because it goes on from a checkpoint: enqueue it without --no-track",
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
