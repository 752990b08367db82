import Glibc

/// The step at which the start of a program failed.
enum StartStep: String, Sendable {
    /// Entering the folder.
    case directory
    /// Finding the program in PATH.
    case search
    /// Executing the file.
    case program
    /// Making a process.
    case process
}

extension ExecFailure {
    /// Makes the failure of a program that did not start.
    ///
    /// - Parameters:
    ///   - request: the program.
    ///   - step: the step that failed.
    ///   - code: the system's error number.
    init(starting request: GuardRequest, _ step: StartStep, _ code: Int32) {
        let reason = String(cString: strerror(code))
        let problem =
            switch step {
            case .directory: "cannot enter the folder \"\(request.directory)\" (cwd): \(reason)"
            case .search: reason + Self.searched(request)
            case .program: Self.executed(request, code, reason)
            case .process: "cannot create a process: \(reason)"
            }
        self.init(notStarted: "\(request.arguments[0]): \(problem)", code)
    }

    private static func searched(_ request: GuardRequest) -> String {
        switch request.search() {
        case .forbidden(let place): ": \"\(place)\" is not executable"
        case .missing, .found: ", program not found in PATH \"\(request.path)\""
        }
    }

    /// Explains a failed exec. The system reports a missing interpreter as a missing program.
    private static func executed(_ request: GuardRequest, _ code: Int32, _ reason: String) -> String {
        guard case .found(let place) = request.search() else { return reason }
        let file = ProgramSearch.absolute(place, from: request.directory)
        let text = "cannot execute \"\(place)\": \(reason)"
        switch code {
        case ENOENT:
            guard access(file, F_OK) == 0 else { return text }
            let interpreter = interpreter(of: file).map { "\"\($0)\", which its first line names," } ?? "its loader"
            return "\(text): \(interpreter) is missing"
        case ENOEXEC: return "\(text): a script begins with a line like #!/bin/sh"
        case EACCES where isFolder(file): return "\(text): it is a folder"
        default: return text
        }
    }

    private static func isFolder(_ path: String) -> Bool {
        var state = stat()
        return stat(path, &state) == 0 && state.st_mode & S_IFMT == S_IFDIR
    }

    private static func interpreter(of path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = max(0, read(descriptor, &bytes, bytes.count))
        guard let line = bytes[..<count].split(separator: UInt8(ascii: "\n")).first, line.starts(with: Array("#!".utf8))
        else { return nil }
        return line.dropFirst(2).split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }.first
            .map { String(decoding: $0, as: UTF8.self) }
    }
}

extension GuardRequest {
    /// The PATH in the program's environment.
    var path: String {
        environment.first { $0.hasPrefix("PATH=") }.map { String($0.dropFirst(5)) } ?? ProgramSearch.defaultPath
    }

    /// Searches for the program as its guard does.
    func search() -> ProgramSearch.Outcome {
        ProgramSearch.find(arguments[0], path: path, directory: directory)
    }
}
