import Operations

extension OperationHandler {
    /// Does nothing for `seconds`, and reports progress.
    static let sleep = OperationHandler(name: "sleep") { json, context in
        let seconds = try SleepArguments(json).seconds
        let start = ContinuousClock.now
        let end = start + .seconds(seconds)
        if seconds > 1 { context.progress(0) }
        while ContinuousClock.now < end {
            try await Task.sleep(until: min(end, .now + .seconds(1)), clock: .continuous)
            let part = (ContinuousClock.now - start).inSeconds / seconds
            if seconds > 1 { context.progress(part) }
        }
        return []
    }
}

/// The arguments of `sleep`.
struct SleepArguments {
    let seconds: Double

    init(_ json: [UInt8]) throws {
        let arguments = try Arguments(json, of: "sleep")
        try arguments.allowDocumented()
        seconds = try arguments.required("seconds", arguments.optionalNumber("seconds"))
        guard seconds >= 0, seconds <= 86_400 * 365 else {
            throw InvalidArguments("sleep", "\"seconds\" must be from 0 to one year")
        }
    }
}
