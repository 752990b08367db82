import Foundation

/// Makes private folders for temporary files.
package enum PrivateFolder {
    /// Makes a new temporary folder that only this user can read.
    ///
    /// - Throws: `CLIError` with `.badConfiguration` if the folder cannot be made.
    package static func make(_ label: String) throws(CLIError) -> URL {
        let template = FileManager.default.temporaryDirectory.appendingPathComponent("\(label)-XXXXXX").path
        var path = Array(template.utf8CString)
        guard mkdtemp(&path) != nil else {
            throw CLIError(.badConfiguration, "cannot create the folder \(template)", fix: "export TMPDIR=/tmp")
        }
        return URL(fileURLWithPath: String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self))
    }
}
