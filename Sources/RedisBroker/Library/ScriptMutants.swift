#if DEBUG
    import Foundation

    /// Scripts that break one rule each: the negative controls of `scripts/faults`. A test that passes with one of them
    /// proves nothing. Exists only in debug builds; the environment variable `SLUICE_MUTANT` names one.
    enum ScriptMutant: String, CaseIterable {
        /// A claim takes operations from the queue without storing them anywhere.
        case noInFlight = "no-in-flight"
        /// Redis accepts the late write of a worker that no longer owns the operation.
        case noFence = "no-fence"
        /// A cancel request is only a message and is not stored.
        case cancelByMessageOnly = "cancel-by-message-only"
        /// No worker recovers the operations of lost workers.
        case noSweeper = "no-sweeper"
        /// A worker never learns which operations it got in a lost reply.
        case noReconcile = "no-reconcile"
        /// A delivery to a worker that is lost is not counted.
        case noDeliveryCount = "no-delivery-count"
        /// A concurrency limit does not count running operations.
        case noPlaces = "no-places"
        /// A claim does not count changes of its own call that are not written yet. A serial queue stalls after each
        /// completion.
        case noUnflushed = "no-unflushed"
        /// A limit key does not count running operations.
        case noKeyPlaces = "no-key-places"
        /// The rate of a limit key does not count starts.
        case noKeyRate = "no-key-rate"
        /// An operation with a taken unique key does not wait for its turn.
        case noTurns = "no-turns"
        /// If an operation has too many dependents for one call, the rest never learn of its end.
        case noOutbox = "no-outbox"
        /// Dependents in other queues never ask for the state of their dependencies.
        case noAsk = "no-ask"
        /// Operations that a body enqueues with its completion start even if its run fails.
        case noRunEnd = "no-run-end"
        /// The opener of a group may disappear unnoticed.
        case noSilence = "no-silence"
        /// The timer owner for schedules is never replaced.
        case noScheduleTakeover = "no-schedule-takeover"
        /// The heartbeat runs as a task, like bodies do. `Heartbeat` does this without a change of a script.
        case heartbeatOnPool = "heartbeat-on-pool"

        /// Ends the process if the name is unknown. Otherwise a control that breaks nothing would seem to
        /// work.
        static let current: ScriptMutant? = ProcessInfo.processInfo.environment["SLUICE_MUTANT"].map { name in
            guard let mutant = ScriptMutant(rawValue: name) else { preconditionFailure("no mutant \"\(name)\"") }
            return mutant
        }

        /// The texts to replace in the assembled scripts, and their replacements.
        private var replacements: [(String, String)] {
            switch self {
            case .noInFlight:
                [
                    ("call('HSET', PREFIX .. 'inflight:' .. worker, unpack(inflight))", ""),
                    ("call('HSET', inflight, format('%d', fence), element)", ""),
                ] + Self.acceptAnything
            case .noFence: Self.acceptAnything
            case .cancelByMessageOnly:
                [("if call('HSETNX', PREFIX .. 'cancelling:' .. worker, fence, trace) == 1 then", "if true then")]
            case .noSweeper: [("local sweep = (lapsed or ", "local sweep = (false and ")]
            case .noPlaces:
                [
                    (
                        "return max(0, concurrency - tonumber(call('HGET', TOTALS, 'executing') or 0)",
                        "return max(0, concurrency"
                    )
                ]
            case .noUnflushed: [("'executing') or 0) - (added.executing or 0))", "'executing') or 0))")]
            case .noKeyPlaces: [("call('SADD', running_set(key), id)", "")]
            case .noKeyRate: [("call('ZADD', BUCKETS, rate.use(n), key)", "")]
            case .noTurns:
                [
                    (
                        "if policy == 'enqueue' then return 'wait' end",
                        "if policy == 'enqueue' then return give_key(key, id) end"
                    )
                ]
            case .noOutbox: [("call('ZADD', OUTBOX, outbox_score(sequence, state), dependency)", "")]
            case .noAsk: [("call('ZRANGEBYSCORE', ASKING, '-inf', NOW, 'LIMIT', '0', format('%d', AT_ONCE))", "{}")]
            case .noRunEnd:
                [
                    (
                        "group_rules().end_run(id_of(element), group, false)",
                        "group_rules().end_run(id_of(element), group, true)"
                    )
                ]
            case .noSilence: [("call('ZADD', ASKING, format('%d', now + lease), '+' .. id)", "")]
            case .noScheduleTakeover:
                [
                    (
                        "if lease and tonumber(lease) >= now and now - due < PASSED_MS then return '' end",
                        "if watching ~= '' then return '' end"
                    )
                ]
            case .heartbeatOnPool: []
            case .noReconcile: [("table.sort(unknown)", "unknown = {}")]
            case .noDeliveryCount:
                [
                    ("elseif delivery >= MAX_DELIVERIES then", "elseif false then"),
                    ("elseif delivery + 1 == MAX_DELIVERIES then", "elseif false then"),
                    ("enter_head(element, delivery + 1, false)", "enter_head(element, delivery, false)"),
                ]
            }
        }

        private static let acceptAnything = [
            (
                "if held[i] and id_of(held[i]) == ARGV[first + 3 * i - 2] then",
                "held[i] = held[i] or string.rep('0', 64)\n    if true then"
            )
        ]

        func apply(to source: String) -> String {
            replacements.reduce(source) { $0.replacingOccurrences(of: $1.0, with: $1.1) }
        }

        static let ofScripts = allCases.filter { !$0.replacements.isEmpty }

        /// Whether some script contains each text to replace.
        func applies(to sources: [String]) -> Bool {
            replacements.allSatisfy { pattern, _ in sources.contains { $0.contains(pattern) } }
        }
    }
#endif
