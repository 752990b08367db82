import Foundation
import Logging
import Operations
import TestSupport
import Testing

@testable import RedisBroker
@testable import BrokerModel

@Suite("The scripts as files", .timeLimit(.minutes(60)))
struct ScriptLibraryTests {
    private let scripts = ScriptLibrary().all

    private static func include(_ name: String) -> String {
        String(decoding: ScriptIncludes.file(name, testClock: false), as: UTF8.self)
    }

    /// Returns the script with the names of its constants.
    private static func assembled(_ name: ScriptName) -> String { ScriptAssembler(testClock: false).source(of: name) }

    @Test("Constants are replaced by their values, except in texts, comments and where a local has the name")
    func constants() {
        let source = ScriptConstants.inline(
            """
            -- MOST of all
            local MOST = 12
            local TEXT = 'a b'
            local TWICE = 1
            local other = MOST + THE_MOST + call('MOST', TEXT, #TEXT)
              local TWICE = 2
            return TWICE
            """
        )
        #expect(
            source == """
                -- MOST of all
                local TWICE = 1
                local other = 12 + THE_MOST + call('MOST', 'a b', #'a b')
                  local TWICE = 2
                return TWICE
                """
        )
    }

    @Test("limits.lua has the constants of SluiceDefaults.swift")
    func limits() throws {
        let claim = Self.include("limits")
        let expected: [Substring: Int64] = [
            "MAX_DELIVERIES": Int64(SluiceDefaults.maxDeliveries),
            "LAST_DELIVERY_SPREAD_MS": QueueModel.lastDeliverySpreadMilliseconds,
            "ERRORS_KEPT": Int64(SluiceDefaults.errorsKept),
            "LOG_LINES": Int64(SluiceDefaults.logLines),
            "LOG_BYTES": Int64(SluiceDefaults.logBytes),
            "PROMOTE_LIMIT": Int64(QueueModel.promoteLimit),
            "PROMOTE_LEAST": Int64(QueueModel.promoteLeast),
            "SWEEP_LIMIT": Int64(QueueModel.sweepLimit),
            "CLEAR_LIMIT": Int64(QueueModel.clearLimit),
            "REPLY_BYTES": Int64(QueueModel.replyBytes),
            "USUAL_BYTES": Int64(QueueModel.usualBytes),
            "BATCH": Int64(SluiceDefaults.batch),
            "TRACKED_BATCH": Int64(SluiceDefaults.trackedBatch),
            "ELEMENT_BYTES": Int64(SluiceDefaults.operationBytes),
            "AGEING_MS": QueueModel.ageingMilliseconds,
            "INTENTS_KEPT": Int64(QueueModel.intentsKept),
            "UNHANDLED_NAMES_KEPT": Int64(SluiceDefaults.unhandledNames),
            "RETENTION_LEAST_MS": QueueModel.leastRetentionMilliseconds,
            "AWAITED_MS": QueueModel.awaitedMilliseconds,
            // The format of a time has nine digits.
            "LATEST": Int64(pow(36.0, 9)) - 1,
        ]
        // Redis alone keeps the answers of calls and the intents, and passes over awaited operations.
        let onlyInScripts: Set<Substring> = [
            "CALLS_KEPT_MS", "CALLS_SLACK_MS", "FORGOTTEN_AT_ONCE", "FLOOR_STEP", "INTENT_MS", "PASSED_AT_ONCE",
        ]
        var found: Set<Substring> = []
        for line in claim.split(separator: "\n") {
            guard let match = line.wholeMatch(of: #/local ([A-Z_]+) = (\d+)/#) else { continue }
            found.insert(match.1)
            if !onlyInScripts.contains(match.1) { #expect(Int64(match.2) == expected[match.1], "\(line)") }
        }
        #expect(found == Set(expected.keys).union(onlyInScripts))
        for (state, limit) in SluiceDefaults.retention {
            let letter = String(UnicodeScalar(state.code))
            #expect(claim.contains(pattern("RETENTION_MS", letter, limit.ageMilliseconds)), "age of \(state)")
            #expect(claim.contains(pattern("RETENTION_COUNT", letter, Int64(limit.count))), "count of \(state)")
        }
    }

    @Test("losses.lua has the constants of SluiceDefaults.swift and the model")
    func losses() throws {
        let lost = Self.include("losses")
        #expect(lost.contains("LOST_KEPT = \(SluiceDefaults.lostWorkersKept)\n"))
        #expect(lost.contains("LOST_KEPT_MS = \(SluiceDefaults.lostWorkersAge.wholeMilliseconds)\n"))
        #expect(lost.contains("LOST_FORGOTTEN_AT_ONCE = \(QueueModel.lostForgottenAtOnce)\n"))
        #expect(lost.contains("LOST_INFO_BYTES = \(QueueModel.lostInfoBytes)\n"))
    }

    @Test("remember.lua has the constants of SluiceDefaults.swift")
    func effects() throws {
        let remember = Self.assembled(.remember)
        #expect(remember.contains("ONCE_LABELS = \(SluiceDefaults.onceLabels)\n"))
        #expect(remember.contains("ONCE_BYTES = \(SluiceDefaults.onceBytes)\n"))
    }

    @Test("The scripts of dependencies have the constants of the model and its callers")
    func dependencies() throws {
        let complete = Self.assembled(.complete)
        #expect(complete.contains("RESOLVED_AT_ONCE = \(QueueModel.resolvedAtOnce)\n"))
        #expect(complete.contains("INPUT_BYTES = \(DependencyInput.shortResultBytes)\n"))
        #expect(complete.contains("INPUTS_BYTES = \(DependencyInput.keptBytes)\n"))
        #expect(complete.contains("EDGES_AT_ONCE = \(QueueModel.edgesAtOnce)\n"))
        let sweep = Self.assembled(.sweep)
        #expect(sweep.contains("SWEPT_AT_ONCE = \(QueueModel.sweptAtOnce)\n"))
        #expect(sweep.contains("RESOLVED_BY_SWEEP = \(QueueModel.resolvedBySweep)\n"))
        let enqueue = Self.assembled(.enqueueLinked)
        #expect(enqueue.contains("NEEDS = \(OperationLinks.dependenciesOfACall)\n"))
        let depend = Self.assembled(.depend)
        #expect(depend.contains("NEEDS_IN_ALL = \(OperationLinks.mostDependencies)\n"))
        let details = Self.assembled(.details)
        #expect(details.contains("SHOWN_LINKS = \(OperationNeeds.shown)\n"))
    }

    #if DEBUG
        @Test("every negative control of scripts/faults still finds its text", arguments: ScriptMutant.allCases)
        func mutants(_ mutant: ScriptMutant) {
            #expect(mutant.applies(to: ScriptName.allCases.map(Self.assembled)))
        }
    #endif

    private func pattern(_ table: String, _ letter: String, _ value: Int64) -> Regex<Substring> {
        guard let regex = try? Regex<Substring>("local \(table) = \\{[^}]*\\b\(letter) = \(value)\\b[^}]*\\}") else {
            preconditionFailure("the pattern is a valid regular expression")
        }
        return regex
    }

    @Test("every script states its KEYS, ARGV, Output and Events, and every include is resolved")
    func headers() {
        #expect(scripts.count == Set(scripts.map(\.name)).count)
        for script in scripts {
            for word in ["KEYS[1]", "ARGV", "Output", "Events"] {
                #expect(script.source.contains("-- \(word)"), "\(script.name).lua has no line \"-- \(word)\"")
            }
            #expect(!script.source.contains("-- include:"), "\(script.name).lua")
        }
    }

    @Test("docs/scripts.md equals the output of `sluice redis script`")
    func table() throws {
        let page = URL(filePath: #filePath).appending(path: "../../../docs/scripts.md").standardized
        let written = try String(contentsOf: page, encoding: .utf8)
        #expect(written == RedisBroker.scriptTable + "\n", "sluice redis script > docs/scripts.md writes it anew")
    }

    @Test("a call assembles its own script and no other")
    func onlyWhatIsCalled() async throws {
        let server = try TestServer.start()
        defer { server.stop() }
        let broker = RedisBroker(
            server.endpoint,
            configuration: .patient(),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        defer { broker.close() }
        func made() -> [String] { broker.scripts.all.filter(\.isMade).map(\.name) }
        try await broker.connect()
        #expect(made() == [])
        let envelope = OperationEnvelope(name: "noop", arguments: Array("{}".utf8)).encoded()
        _ = try await broker.enqueue([NewOperation(tracked: true, envelope: envelope)], queue: "default")
        #expect(made() == ["enqueue"])
        _ = try await broker.snapshot(queue: "default", executingRows: 0)
        #expect(made() == ["enqueue", "snapshot"])
    }

    @Test("the test clock replaces the server's clock and nothing else")
    func testClock() {
        for (real, test) in zip(scripts, ScriptLibrary(testClock: true).all) {
            #expect(real.source.contains("call('TIME')") && !test.source.contains("call('TIME')"), "\(real.name).lua")
        }
    }
}

@Suite("An unused part of a script", .timeLimit(.minutes(60)))
struct ScriptPrunerTests {
    @Test("is left out with its comment and its own helpers, and everything else stays")
    func prunes() {
        let source = """
            -- What it is.
            local call = redis.call
            -- Used by one that is unused.
            local function deep(x)
              return x
            end
            -- Unused: used() and deep() are only named here.

            -- Calls itself.
            local function unused(x)
              return unused(deep(x))
            end
            -- end of the base
            local LIMIT = 5
            local UNUSED = LIMIT + 1
            local TABLE = {
            }
            local function short() return 1 end
            local function idle() return 2 end
            -- Its own.
            local function used(x)
              -- idle() is only mentioned.
              local function inner() return short() end
              return inner()
            end
            return used(LIMIT)
            """
        let kept = """
            -- What it is.
            local call = redis.call
            -- Unused: used() and deep() are only named here.

            -- end of the base
            local LIMIT = 5
            local TABLE = {
            }
            local function short() return 1 end
            -- Its own.
            local function used(x)
              -- idle() is only mentioned.
              local function inner() return short() end
              return inner()
            end
            return used(LIMIT)
            """
        let lines = source.split(separator: "\n", omittingEmptySubsequences: false).map { Array($0.utf8)[...] }
        #expect(ScriptPruner.prune(lines).map { String(decoding: $0, as: UTF8.self) }.joined(separator: "\n") == kept)
    }

    @Test("no script defines a function that it does not use")
    func scripts() {
        for script in ScriptLibrary().all {
            for match in script.source.matches(of: /(?m)^local function ([a-z_]+)\(/) {
                let name = String(match.1)
                let code = script.source.split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("--") }
                let uses = code.filter { $0.split { !$0.isLetter && $0 != "_" }.contains(Substring(name)) }
                #expect(uses.count > 1, "\(script.name).lua: \(name)")
            }
        }
    }
}
