import RedisClient

/// The scripts, each assembled from the embedded `.lua` files when it is first called.
struct ScriptLibrary: Sendable {
    /// In the order of `ScriptName`.
    let all: [RedisScript]

    /// - Parameters:
    ///   - testClock: time is read from the key `{namespace/queue}:clock` instead of the server's clock.
    ///   - edit: changes the assembled sources, for negative controls. Constants have their names then.
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
    /// The names of all scripts, as their files are called.
    package static var scriptNames: [String] { ScriptName.allCases.map(\.description) }

    /// What is sent to Redis under a script's name, with all includes; nil if there is none.
    package static func scriptSource(named name: String) -> String? {
        ScriptLibrary().all.first { $0.name == name }?.source
    }
}
