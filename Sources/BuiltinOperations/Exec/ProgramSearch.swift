import Glibc
import Operations

/// Finds the file of a program as `execvp` does: a name with a slash is a path, another one is looked for in the folders of PATH.
package enum ProgramSearch {
    /// Where the environment has no PATH.
    package static let defaultPath = "/usr/local/bin:/usr/bin:/bin"

    /// What was found.
    package enum Outcome: Equatable, Sendable {
        case found(String)
        /// Files of that name are there, and none may be run: the first of them.
        case forbidden(String)
        case missing
    }

    /// Looks for a program.
    ///
    /// - Parameters:
    ///   - name: as it was given.
    ///   - path: folders with colons between them; empty ones are left out.
    ///   - directory: where relative paths begin; empty = this process's own folder.
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

    /// Whether a path is a regular file that this process may run.
    package static func isProgram(_ path: String) -> Bool { kind(path, from: "") == .program }

    private enum Kind { case program, file }

    private static func kind(_ path: String, from directory: String) -> Kind? {
        let full = absolute(path, from: directory)
        var state = stat()
        guard stat(full, &state) == 0, state.st_mode & S_IFMT == S_IFREG else { return nil }
        return access(full, X_OK) == 0 ? .program : .file
    }

    /// A path as it is seen from a folder.
    static func absolute(_ path: String, from directory: String) -> String {
        path.hasPrefix("/") || directory.isEmpty ? path : "\(directory)/\(path)"
    }
}
