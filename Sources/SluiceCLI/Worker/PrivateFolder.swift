import Foundation

/// A new folder under the temporary one that only this user sees.
package enum PrivateFolder {
    /// - Throws: `CLIError` if none can be made.
    package static func make(_ label: String) throws(CLIError) -> URL {
        let template = FileManager.default.temporaryDirectory.appendingPathComponent("\(label)-XXXXXX").path
        var path = Array(template.utf8CString)
        guard mkdtemp(&path) != nil else {
            throw CLIError(.badConfiguration, "cannot make the folder \(template)", fix: "TMPDIR=/tmp")
        }
        return URL(fileURLWithPath: String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self))
    }
}
