import Glibc
import Operations

/// Finds the file of a program as `execvp` does: a name with a slash is a path; any other is searched for in the
/// folders of PATH.
package enum ProgramSearch {
    /// The folders if the environment has no PATH.
    package static let defaultPath = "/usr/local/bin:/usr/bin:/bin"

    /// The result of a search.
    package enum Outcome: Equatable, Sendable {
        case found(String)
        /// The first file of that name. Files of that name exist, but none is executable.
        case forbidden(String)
        case missing
    }

    /// Looks for a program.
    ///
    /// - Parameters:
    ///   - name: the name or path of the program.
    ///   - path: folders separated by colons; empty ones are skipped.
    ///   - directory: the base of relative paths; empty = this process's folder.
    package static func find(_ name: String, path: String, directory: String = "") -> Outcome {
        guard !name.contains("/") else { return .found(name) }
        var forbidden: String?
        for folder in path.split(separator: ":") {
            let place = "\(folder)/\(name)"
            switch kind(place, from: directory) {
            case .program: return .found(place)
            case .file: forbidden = forbidden ?? place
            case .none: continue
            }
        }
        return forbidden.map { .forbidden($0) } ?? .missing
    }

    /// Whether a path is a regular file that this process may execute.
    package static func isProgram(_ path: String) -> Bool { kind(path, from: "") == .program }

    private enum Kind { case program, file }

    private static func kind(_ path: String, from directory: String) -> Kind? {
        let full = absolute(path, from: directory)
        var state = stat()
        guard stat(full, &state) == 0, state.st_mode & S_IFMT == S_IFREG else { return nil }
        return access(full, X_OK) == 0 ? .program : .file
    }

    /// The absolute path of a path that is relative to a folder.
    static func absolute(_ path: String, from directory: String) -> String {
        path.hasPrefix("/") || directory.isEmpty ? path : "\(directory)/\(path)"
    }
}
