import Operations
import Testing

@Suite("The context of a trace", .timeLimit(.minutes(60)))
struct TraceContextTests {
    private static let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    @Test("of the environment becomes headers; without a valid parent there is none")
    func environment() {
        let environment = ["TRACEPARENT": Self.parent, "TRACESTATE": "a=1", "BAGGAGE": "user=ada", "PATH": "/bin"]
        let headers = ["traceparent": Self.parent, "tracestate": "a=1", "baggage": "user=ada"]
        #expect(TraceContext.headers(from: environment) == headers)
        #expect(TraceContext.variables(from: headers.merging(["tenant": "acme"]) { $1 }).count == 3)
        #expect(TraceContext.headers(from: ["TRACEPARENT": Self.parent]) == ["traceparent": Self.parent])
    }

    @Test(
        "is refused as a whole if its parent is not one by W3C Trace Context",
        arguments: [
            "", "00", parent + "0", parent.uppercased(), "ff" + parent.dropFirst(2), "00-" + parent.dropFirst(4),
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", parent + "\n",
        ]
    )
    func invalid(parent: String) {
        #expect(TraceContext.headers(from: ["TRACEPARENT": parent, "TRACESTATE": "a=1"]).isEmpty)
        #expect(TraceContext.variables(from: ["traceparent": parent, "baggage": "a=b"]).isEmpty)
    }

    @Test("leaves out what headers do not allow, and never replaces a context that the caller gave")
    func bounds() {
        let long = String(repeating: "x", count: 1025)
        let context = TraceContext.headers(from: ["TRACEPARENT": Self.parent, "BAGGAGE": long, "TRACESTATE": "a=\u{7}"])
        #expect(context == ["traceparent": Self.parent])
        let own = ["traceparent": "mine"]
        #expect(TraceContext.add(context, to: own) == own)
        let full = Dictionary(uniqueKeysWithValues: (0..<32).map { ("h\($0)", "x") })
        #expect(TraceContext.add(context, to: full) == full)
    }

    @Test("of a rerun is that of its caller; the original's stays as its origin")
    func rerun() {
        let headers = ["traceparent": Self.parent, "tracestate": "a=1", "baggage": "b=2", "tenant": "acme"]
        let rerun = TraceContext.headers(ofRerun: headers)
        #expect(rerun == ["origin-traceparent": Self.parent, "tenant": "acme"])
        #expect(TraceContext.originContext(of: rerun) == ["traceparent": Self.parent])
        #expect(TraceContext.headers(ofRerun: rerun) == ["tenant": "acme"])
        #expect(TraceContext.originContext(of: headers).isEmpty)
        let long = ["traceparent": Self.parent].merging((0..<31).map { ("h\($0)", "") }) { $1 }
        #expect(TraceContext.headers(ofRerun: long).count == 32)
        let full = long.merging(["baggage": String(repeating: "x", count: 900)]) { $1 }
        #expect(TraceContext.headers(ofRerun: full)["baggage"] == nil)
    }

    @Test("goes to what a body enqueues if it fits; own headers come first, and a child of a rerun is no rerun")
    func inherited() {
        let headers = ["traceparent": Self.parent, "origin-traceparent": Self.parent, "tenant": "acme", "a": "1"]
        let child = TraceContext.inherited(headers, by: ["a": "2"])
        #expect(child == ["traceparent": Self.parent, "tenant": "acme", "a": "2"])
        let full = Dictionary(uniqueKeysWithValues: (0..<31).map { ("h\($0)", "x") })
        let kept = TraceContext.inherited(full.merging(["traceparent": Self.parent]) { $1 }, by: ["own": "1"])
        #expect(kept == full.merging(["own": "1"]) { $1 })
    }
}
