import Foundation
import Operations
import RedisClient
import TestSupport
import Testing

import struct SluiceOperator.ChangeJob
import struct SluiceOperator.ChangeJobProgress

extension CommandLineTests {
    @Suite("doctor and stored changes")
    struct StoredChangeTests {
        private let sluice = CommandLine()

        private func findings() async throws -> [String: (code: String, fix: String?)] {
            let report = try await sluice.json("doctor", "--deep")
            let all = report["findings"]?.arrayValue ?? []
            return all.reduce(into: [:]) { found, finding in
                guard let subject = finding["subject"]?.stringValue, let code = finding["code"]?.stringValue else {
                    return
                }
                found[subject] = (code, finding["fix"]?.stringValue)
            }
        }

        @Test("A stored change is no unknown key, and an unreadable one is a finding")
        func unreadable() async throws {
            _ = try await sluice.enqueue("noop")
            let job = ChangeJob(.hold, .matching("name:noop"), reason: "", by: "ann", expected: 1)
            let progress = ChangeJobProgress(starts: [:]).bytes
            let (good, bad) = (OperationID(), OperationID())
            _ = try await sluice.broker.addChange(good, definition: job.bytes, progress: progress)
            _ = try await sluice.broker.addChange(bad, definition: Array("{".utf8), progress: progress)
            let found = try await findings()
            #expect(found["\(good)"] == nil && found["\(bad)"]?.code == "changeUnreadable", "\(found)")
            #expect(!found.values.contains { $0.code == "unknownKey" }, "\(found)")
        }

        @Test(
            "A change that waits for a dashboard is a finding with the command, and hostile fields hide no other change",
            .enabled(if: TestRedis.isSingle, "it writes a key of one server")
        )
        func waits() async throws {
            _ = try await sluice.enqueue("noop")
            let key = "{\(sluice.namespace):queues}:changes:meta"
            func set(_ field: String, _ value: String) throws {
                try TestRedis.shared.ask(RedisCommand("HSET", key, field, value))[0].expectSuccess()
            }
            let job = ChangeJob(.hold, .matching("name:noop"), reason: "", by: "ann", expected: 9)
            var progress = ChangeJobProgress(starts: [:])
            progress.done = 4
            let ids = (0..<4).map { _ in OperationID() }
            for (id, head) in zip(ids, ["x", "o -1 a b c", "", "o 1 1000 1000 "]) { try set("\(id)", head) }
            try set("not an id of 26 characters", "o 0 0 0 ")
            try set("\(ids[3]):definition", String(decoding: job.bytes, as: UTF8.self))
            try set("\(ids[3]):progress", String(decoding: progress.bytes, as: UTF8.self))
            let found = try await findings()
            for id in ids[..<3] { #expect(found["\(id)"]?.code == "changeUnreadable", "\(found)") }
            let waiting = try #require(found["\(ids[3])"])
            #expect(waiting.code == "changeWaits" && waiting.fix == "sluice dashboard", "\(waiting)")
            let next = try await sluice.broker.nextChange(leaving: [])
            #expect(next == nil || next?.id == ids[3])
        }
    }
}
