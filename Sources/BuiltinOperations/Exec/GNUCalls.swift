import Glibc

/// Functions of the C library that Swift does not import: GNU extensions, `fork` and `prctl`. After `fork` only a few
/// calls are safe; `prctl` is variadic in C.
enum GNUCalls {
    static let fork: @Sendable @convention(c) () -> pid_t = find("fork")
    static let prctl: @Sendable @convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32 = find("prctl")
    static let pipe2: @Sendable @convention(c) (UnsafeMutablePointer<Int32>, Int32) -> Int32 = find("pipe2")
    static let memfdCreate: @Sendable @convention(c) (UnsafePointer<CChar>, UInt32) -> Int32 = find("memfd_create")
    /// Newer functions; nil if they are missing.
    static let pidfdOpen: (@Sendable @convention(c) (pid_t, UInt32) -> Int32)? = look("pidfd_open")

    static let closeOnExecMemory: UInt32 = 1
    static let deathSignal: Int32 = 1
    static let childSubreaper: Int32 = 36
    static let ownSession: Int16 = 0x80

    private static func find<Function>(_ name: String) -> Function {
        guard let function: Function = look(name) else { preconditionFailure("this C library has no \(name)") }
        return function
    }

    private static func look<Function>(_ name: String) -> Function? {
        dlsym(nil, name).map { unsafeBitCast($0, to: Function.self) }
    }
}
