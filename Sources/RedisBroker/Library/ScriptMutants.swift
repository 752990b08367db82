#if DEBUG
    import Foundation

    /// Scripts that break one rule each, for the negative controls of `scripts/faults`: a harness that stays green under one of
    /// them proves nothing. Debug builds only, and only where the environment names one in `SLUICE_MUTANT`.
    enum ScriptMutant: String, CaseIterable {
        /// What a claim pops is kept nowhere.
        case noInFlight = "no-in-flight"
        /// A worker's late write counts, whoever owns the operation by now.
        case noFence = "no-fence"
        /// A cancel is only a message.
        case cancelByMessageOnly = "cancel-by-message-only"
        /// Nobody looks after lost workers.
        case noSweeper = "no-sweeper"
        /// A worker never learns what a lost reply has handed to it.
        case noReconcile = "no-reconcile"
        /// A lost delivery is not counted.
        case noDeliveryCount = "no-delivery-count"
        /// A limit does not count what runs.
        case noPlaces = "no-places"
        /// A claim does not count what its own call has not written yet: a serial queue stalls behind each completion.
        case noUnflushed = "no-unflushed"
        /// A limit key does not count what runs.
        case noKeyPlaces = "no-key-places"
        /// A limit key's rate counts no start.
        case noKeyRate = "no-key-rate"
        /// What comes to a taken unique key does not wait for its turn.
        case noTurns = "no-turns"
        /// Of many dependents, those do not hear of an end that are too many for its call.
        case noOutbox = "no-outbox"
        /// What waits for operations of other queues never asks how they stand.
        case noAsk = "no-ask"
        /// What a body has enqueued with its completion starts however its run ends.
        case noRunEnd = "no-run-end"
        /// What has opened a group may be gone without notice.
        case noSilence = "no-silence"
        /// A worker that watches for schedules is never replaced.
        case noScheduleTakeover = "no-schedule-takeover"
        /// The heartbeat is a task like those of bodies. No script is changed: `Heartbeat` does it.
        case heartbeatOnPool = "heartbeat-on-pool"

        /// - Throws: nothing, but ends the process if the name is unknown: a control that breaks nothing would pass for one.
        static let current: ScriptMutant? = ProcessInfo.processInfo.environment["SLUICE_MUTANT"].map { name in
            guard let mutant = ScriptMutant(rawValue: name) else { preconditionFailure("no mutant \"\(name)\"") }
            return mutant
        }

        /// What is replaced in the assembled scripts, and by what.
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

        /// Whether every replacement is still found in some script.
        func applies(to sources: [String]) -> Bool {
            replacements.allSatisfy { pattern, _ in sources.contains { $0.contains(pattern) } }
        }
    }
#endif
