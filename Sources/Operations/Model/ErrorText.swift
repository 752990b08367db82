import Foundation

extension Error {
    /// The text of an error to store: the description of a `LocalizedError`, the text of an error of Foundation with
    /// domain, code and file or URL, or the value itself.
    package var text: String {
        if let text = (self as? any LocalizedError)?.errorDescription { return text }
        let described = String(describing: self)
        // The description of an error of Foundation is its whole dictionary, often without a sentence.
        guard described.hasPrefix("Error Domain=") else { return described }
        if let error = self as? any CustomNSError {
            return foundationText(domain: type(of: error).errorDomain, error.errorCode, error.errorUserInfo)
        }
        let error = self as NSError
        return foundationText(domain: error.domain, error.code, error.userInfo)
    }

    private func foundationText(domain: String, _ code: Int, _ facts: [String: Any]) -> String {
        let place = ["NSFilePath", "NSErrorFailingURLStringKey"].compactMap { facts[$0] as? String }.first
        let text = localizedDescription
        return text + (text.contains(domain) ? "" : " (\(domain) error \(code).)") + (place.map { " At: \($0)" } ?? "")
    }
}
