import Instrumentation
import Operations

/// The context of a span in the headers of an operation.
enum TraceHeaders {
    private struct Dictionary: Injector, Extractor {
        func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) { carrier[key] = value }

        func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }
    }

    /// Puts a context into headers, in place of the context that an operation has from its parent.
    ///
    /// An enqueue never fails because of its trace: a value that headers do not allow is left out as a whole.
    static func inject(_ context: ServiceContext, into headers: inout [String: String], _ instrument: some Instrument) {
        headers = TraceContext.withoutSpan(headers)
        var fields: [String: String] = [:]
        instrument.inject(context, into: &fields, using: Dictionary())
        // The order is that of importance: what no longer fits is left out.
        let known = TraceContext.names.filter { fields[$0] != nil }
        for name in known + fields.keys.filter({ !known.contains($0) }).sorted() {
            var all = headers
            all[name] = fields[name]
            if HeaderRule.allows(all) { headers = all }
        }
    }

    static func extract(_ headers: [String: String], _ instrument: some Instrument) -> ServiceContext {
        var context = ServiceContext.topLevel
        instrument.extract(headers, into: &context, using: Dictionary())
        return context
    }

    /// The context in which the operation was enqueued that this one repeats; nil = no rerun, or no trace.
    static func origin(of headers: [String: String], _ instrument: some Instrument) -> ServiceContext? {
        let fields = TraceContext.originContext(of: headers)
        guard !fields.isEmpty else { return nil }
        let context = extract(fields, instrument)
        return context.isEmpty ? nil : context
    }
}
