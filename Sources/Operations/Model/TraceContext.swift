import Foundation

/// The context of a trace, in headers and environment variables, as W3C Trace Context names them.
package enum TraceContext {
    /// The names of the headers, the most important first.
    package static let names = ["traceparent", "tracestate", "baggage"]
    /// The header of a rerun with the `traceparent` of the operation that it repeats.
    private static let origin = "origin-traceparent"

    /// The context that this process got from its caller.
    package static let ofThisProcess = headers(from: ProcessInfo.processInfo.environment)

    /// Returns headers with a context, unless they have one. Fields that no longer fit are left out as a whole.
    package static func add(_ context: [String: String], to headers: [String: String]) -> [String: String] {
        guard !context.isEmpty, headers["traceparent"] == nil else { return headers }
        var all = headers
        for name in names {
            guard let value = context[name] else { continue }
            var more = all
            more[name] = value
            if HeaderRule.allows(more) { all = more }
        }
        return all
    }

    /// Returns headers without a span, to get another one. Baggage belongs to no span.
    package static func withoutSpan(_ headers: [String: String]) -> [String: String] {
        headers.filter { !["traceparent", "tracestate"].contains($0.key) }
    }

    /// Returns headers without any context and origin.
    package static func withoutContext(_ headers: [String: String]) -> [String: String] {
        headers.filter { !names.contains($0.key) && $0.key != origin }
    }

    /// Returns the headers of an operation that a body enqueues: its own, and those of the body's operation. A context
    /// is the last to find a place, and a child of a rerun is no rerun.
    package static func inherited(_ headers: [String: String], by own: [String: String]) -> [String: String] {
        add(headers, to: own.merging(withoutContext(headers)) { own, _ in own })
    }

    /// Returns the headers of a rerun: the context of the original becomes its origin.
    package static func headers(ofRerun headers: [String: String]) -> [String: String] {
        let rest = withoutContext(headers)
        var all = rest
        all[origin] = headers["traceparent"]
        return HeaderRule.allows(all) ? all : rest
    }

    /// Returns the context of the operation that a rerun repeats, under its usual name.
    package static func originContext(of headers: [String: String]) -> [String: String] {
        headers[origin].map { ["traceparent": $0] } ?? [:]
    }

    /// Returns the context in the variables `TRACEPARENT`, `TRACESTATE` and `BAGGAGE`; empty without a valid
    /// `TRACEPARENT`.
    package static func headers(from environment: [String: String]) -> [String: String] {
        guard let parent = environment["TRACEPARENT"], isTraceparent(parent) else { return [:] }
        var context: [String: String] = [:]
        for name in names { context[name] = environment[name.uppercased()] }
        return add(context, to: [:])
    }

    /// Returns the variables with which a program continues the trace of an operation.
    package static func variables(from headers: [String: String]) -> [String: String] {
        guard let parent = headers["traceparent"], isTraceparent(parent) else { return [:] }
        var variables: [String: String] = [:]
        for name in names { variables[name.uppercased()] = headers[name] }
        return variables
    }

    /// Whether the text is a version, a trace, a span and flags in hexadecimal digits, none of the first three invalid.
    ///
    /// Source: W3C Trace Context, section 3.2.2.
    private static func isTraceparent(_ text: String) -> Bool {
        guard let match = text.wholeMatch(of: /([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}/) else {
            return false
        }
        return match.1 != "ff" && match.2.contains { $0 != "0" } && match.3.contains { $0 != "0" }
    }
}
