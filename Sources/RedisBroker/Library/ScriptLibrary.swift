import RedisClient

/// The scripts, each assembled from the embedded `.lua` files when it is first called.
struct ScriptLibrary: Sendable {
    private let scripts: [ScriptName: RedisScript]

    /// - Parameters:
    ///   - testClock: time is read from the key `{namespace/queue}:clock` instead of the server's clock.
    ///   - edit: changes the assembled sources, for negative controls.
    init(testClock: Bool = false, edit: (@Sendable (String) -> String)? = nil) {
        let pairs = ScriptName.allCases.map { name in
            let script = RedisScript(name: name.rawValue) {
                let source = ScriptAssembler(testClock: testClock).source(of: name)
                return edit?(source) ?? source
            }
            return (name, script)
        }
        scripts = Dictionary(uniqueKeysWithValues: pairs)
    }

    subscript(name: ScriptName) -> RedisScript {
        guard let script = scripts[name] else { preconditionFailure("every name has a script") }
        return script
    }

    var all: [RedisScript] { ScriptName.allCases.map { self[$0] } }
}

extension RedisBroker {
    /// The names of all scripts, as their files are called.
    package static var scriptNames: [String] { ScriptName.allCases.map(\.rawValue) }

    /// What is sent to Redis under a script's name, with all includes; nil if there is none.
    package static func scriptSource(named name: String) -> String? {
        ScriptName(rawValue: name).map { ScriptLibrary()[$0].source }
    }
}
