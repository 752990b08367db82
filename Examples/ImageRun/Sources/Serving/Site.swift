import Foundation

/// The served files of one directory, and the behaviour of their paths.
struct Site: Sendable {
    let directory: URL
    /// Behaviours by path (`/image-007.png`). The plan takes precedence over behaviours in a path.
    let plan: [String: Behavior]

    /// The meaning of a request path.
    struct Target: Hashable {
        let fileName: String
        let behavior: Behavior
    }

    /// - Parameter planFile: a JSON object of behaviours by path; `nil` = no plan.
    init(directory: URL, planFile: URL? = nil) throws {
        guard (try? directory.checkResourceIsReachable()) == true else {
            throw ImageRunError(.file, "there is no directory \(directory.path)")
        }
        self.directory = directory
        guard let planFile else {
            plan = [:]
            return
        }
        do {
            plan = try JSONDecoder().decode([String: Behavior].self, from: Data(contentsOf: planFile))
        } catch {
            throw ImageRunError(.file, "\(planFile.path) is no plan: \(error)")
        }
    }

    /// Returns the target of a request's path.
    ///
    /// Behaviours may stand before the name: `/delay-200/slow-3/image-007.png`. The name is one component of letters,
    /// digits, `.`, `-` and `_` that does not begin with a point, so no path leads out of the directory.
    ///
    /// - Returns: `nil` if the path is not of this form.
    func target(_ uri: String) -> Target? {
        let path = uri.prefix { $0 != "?" }
        guard path.hasPrefix("/") else { return nil }
        let components = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        guard let name = components.last, Self.isName(name) else { return nil }
        var behavior = Behavior()
        for component in components.dropLast() {
            guard behavior.apply(component) else { return nil }
        }
        return Target(fileName: String(name), behavior: plan[String(path)] ?? behavior)
    }

    private static func isName(_ name: some StringProtocol) -> Bool {
        guard let first = name.utf8.first, first != UInt8(ascii: "."), name.utf8.count <= 255 else { return false }
        return name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }

    /// Returns the bytes of a file; `nil` = the file cannot be read.
    func contents(of target: Target) -> Data? {
        try? Data(contentsOf: directory.appendingPathComponent(target.fileName, isDirectory: false))
    }
}
