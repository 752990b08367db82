import Foundation

/// The reason why a command failed.
struct ImageRunError: Error, Hashable {
    enum Code: String, Hashable {
        /// The arguments are wrong.
        case usage
        /// A file is missing, unreadable, or not as expected.
        case file
        /// The server cannot listen.
        case listen
        /// The check found differences.
        case different
    }

    let code: Code
    let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    var exitCode: Int32 {
        switch code {
        case .usage: 64
        case .file: 66
        case .listen: 69
        case .different: 1
        }
    }
}
