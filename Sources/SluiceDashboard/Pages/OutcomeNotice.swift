/// The result of a change, shown on the page to which the browser is sent afterwards.
///
/// The link has only a code, so that a link from elsewhere cannot show a text of its own.
enum OutcomeNotice: String, CaseIterable {
    case cancelled, requested, retried, held, released, removed, paused, resumed

    var text: String {
        switch self {
        case .cancelled: "Cancelled."
        case .requested: "The cancel is requested. The operation ends when its worker, or its last member, has stopped."
        case .retried: "The operation runs again with fresh attempts, or at once."
        case .held: "The operation is held until it is released."
        case .released: "The operation is released."
        case .removed: "The operation is removed."
        case .paused: "The queue is paused. Running operations continue."
        case .resumed: "The queue is resumed."
        }
    }

    static func markup(_ visit: Visit) -> Markup? {
        guard let outcome = visit.query["outcome"].flatMap(OutcomeNotice.init) else { return nil }
        return Notice.markup(.good, outcome.text)
    }
}
