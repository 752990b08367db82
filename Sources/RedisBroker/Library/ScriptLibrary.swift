import RedisClient

/// The scripts, each assembled from the embedded `.lua` files when it is first called.
struct ScriptLibrary: Sendable {
    /// All scripts, in the order of `ScriptName`.
    let all: [RedisScript]

    /// - Parameters:
    ///   - testClock: whether scripts read the time from the key `{namespace/queue}:clock` instead of the server's
    ///     clock.
    ///   - edit: changes the assembled sources, for negative controls. Gets them before constants are replaced by
    ///     values.
    init(testClock: Bool = false, edit: (@Sendable (String) -> String)? = nil) {
        all = ScriptName.allCases.map { name in
            RedisScript(name: name.description) {
                let source = ScriptAssembler(testClock: testClock).source(of: name)
                return ScriptConstants.inline(edit?(source) ?? source)
            }
        }
    }

    subscript(name: ScriptName) -> RedisScript { all[name.rawValue] }
}

extension RedisBroker {
    /// The names of all scripts, which are also the names of their files.
    package static var scriptNames: [String] { ScriptName.allCases.map(\.description) }

    /// The source that is sent to Redis for a script, with all includes; nil if no script has this name.
    package static func scriptSource(named name: String) -> String? {
        ScriptLibrary().all.first { $0.name == name }?.source
    }
}
