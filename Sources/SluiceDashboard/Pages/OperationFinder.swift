import Operations
import Selectors
import SluiceOperator
import TerminalText

/// Finds the operation of a page.
struct OperationFinder {
    /// The most operations of a queue and state to search, since each viewer may search.
    private static let most = 100_000

    let broker: any OperatorBroker

    /// Finds an operation by id and queue, or by an id, the end of an id, or the text of an own id in any queue.
    ///
    /// - Throws: `PageFailure` if there is none, or several.
    func find(_ text: String, queue: String?) async throws -> OperationDetail {
        let address = try await address(text, queue: queue)
        guard let detail = try await broker.details([address.id], queue: address.queue).first ?? nil else {
            throw PageFailure.notFound(
                "There is no operation \(text) in queue \(address.queue).",
                notes: ["It was removed, its time to be kept has passed, or it was enqueued without a record."]
            )
        }
        return detail
    }

    private func address(_ text: String, queue: String?) async throws -> OperationAddress {
        if let queue {
            guard NameRule.allows(queue), let id = OperationID(text) else {
                throw PageFailure.notFound("There is no operation \(text) in queue \(queue).")
            }
            return OperationAddress(queue: queue, id: id)
        }
        let lookup = OperationLookup(broker, most: Self.most)
        guard let reference = IDReference(text), let finding = try await lookup.find([reference]).first
        else {
            throw PageFailure.notFound("An operation is named by its id, or by the last 6 or more characters of it.")
        }
        switch finding {
        case .found(let address): return address
        case .notFound:
            let isSearched = reference.meanings.contains { $0.id == nil }
            throw PageFailure.notFound(
                "There is no operation \(reference.shown).",
                notes: isSearched ? [Self.extent] : []
            )
        case .ambiguous(let places):
            throw PageFailure(
                status: .multipleChoices,
                title: "Several operations match",
                message: "\(reference.shown) matches \(places.count) operations.",
                notes: places.prefix(10).map { "\($0.queue)/\($0.id)" }
            )
        }
    }

    /// The operations in which the end of an id is searched.
    private static var extent: String {
        "The end of an id was searched in \(QuantityText.grouped(most)) operations of each queue and state, and in "
            + "\(QuantityText.grouped(OperationLookup.newest)) that are ready or ended."
    }
}
