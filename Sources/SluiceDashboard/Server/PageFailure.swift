import HTTPTypes
import Operations
import Selectors
import SluiceOperator

/// A request that cannot be answered with the page that was asked for.
struct PageFailure: Error, Equatable {
    var status: HTTPResponse.Status
    var title: String
    var message: String
    var notes: [String] = []
    /// The words of a command that may help.
    var command: [String]?
    /// Whether the page has a field for a token.
    var offersLogin = false
    /// The page on which to go on.
    var next: NextPage?

    struct NextPage: Equatable {
        var link: Link
        var title: String
    }

    static func notFound(_ message: String, notes: [String] = []) -> PageFailure {
        PageFailure(status: .notFound, title: "Not found", message: message, notes: notes)
    }

    static func badRequest(_ message: String) -> PageFailure {
        PageFailure(status: .badRequest, title: "This request cannot be read", message: message)
    }

    static func forbidden(_ message: String) -> PageFailure {
        PageFailure(status: .forbidden, title: "Not allowed", message: message)
    }

    /// - Parameter object: what the change is about.
    static func unknownOutcome(_ reason: String, of object: String = "page", command: [String]? = nil) -> PageFailure {
        PageFailure(
            status: .serviceUnavailable,
            title: "The change may have been made",
            message: "Redis was asked, and then: \(reason)",
            notes: ["Look at the \(object) before you try again."],
            command: command
        )
    }

    static func unavailable(_ reason: String) -> PageFailure {
        PageFailure(
            status: .serviceUnavailable,
            title: "Redis does not answer",
            message: reason,
            notes: ["The page shows data as soon as Redis answers."],
            command: ["doctor"]
        )
    }

    init(
        status: HTTPResponse.Status,
        title: String,
        message: String,
        notes: [String] = [],
        command: [String]? = nil,
        offersLogin: Bool = false
    ) {
        self.offersLogin = offersLogin
        (self.status, self.title, self.message) = (status, title, message)
        (self.notes, self.command) = (notes, command)
    }

    /// The failure for an error of the read model or of the broker.
    init(_ error: any Error) {
        switch error {
        case let failure as PageFailure: self = failure
        case let error as QueryError: self = .badRequest("\(error)")
        case let failure as LookupFailure: self = .lookup(failure)
        case let error as AbsentQueues:
            self.init(status: .serviceUnavailable, title: "A node does not answer", message: error.sentence)
        case let error as OperationsError where error.code == .unavailable: self = .unavailable(error.message)
        case let error as OperationsError where error.code == .outcomeUnknown: self = .unknownOutcome(error.message)
        case let error as OperationsError where [.invalidName, .invalidOption].contains(error.code):
            self = .badRequest(error.message)
        case let error as OperationsError:
            self.init(status: .internalServerError, title: "This did not work", message: error.message)
        default: self.init(status: .internalServerError, title: "This did not work", message: "\(error)")
        }
    }

    private static func lookup(_ failure: LookupFailure) -> PageFailure {
        var page = PageFailure.notFound(failure.message, notes: failure.notes)
        switch failure.fix {
        case .command(let words): page.command = words.split(separator: " ").map(String.init)
        case .advice(let text): page.notes.append(text)
        case nil: break
        }
        switch failure.code {
        case .notFound: break
        case .ambiguous: (page.status, page.title) = (.multipleChoices, "Several match")
        case .tooMany: (page.status, page.title) = (.badRequest, "Too many operations")
        case .unreachable: (page.status, page.title) = (.serviceUnavailable, "A node does not answer")
        }
        return page
    }
}
