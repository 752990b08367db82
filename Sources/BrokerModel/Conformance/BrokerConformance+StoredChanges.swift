import Operations

extension BrokerConformance {
    private static let lease: Int64 = 60_000

    static let storingChanges: [ConformanceCheck] = [
        ConformanceCheck("A stored change is taken by one at a time, and its progress is read by all") { bench in
            let id = OperationID()
            let broker = bench.broker
            try bench.expect(try await broker.addChange(id, definition: [1, 2], progress: [3]), .stored, "stored")
            try bench.expect(try await broker.addChange(id, definition: [9], progress: [9]), .known, "stored again")
            let taken = try await broker.takeChange(leaseMilliseconds: lease)
            try bench.expect(taken?.id, id, "the taken change")
            try bench.expect(taken?.fence, 1, "its fence")
            try bench.expect(taken?.definition, [1, 2], "its definition")
            try bench.expect(taken?.progress, [3], "its progress")
            try bench.expect(try await broker.takeChange(leaseMilliseconds: lease), nil, "a second taking")
            let saving = try await broker.saveChange(
                id,
                fence: 1,
                progress: [4, 0, 255],
                isEnd: false,
                leaseMilliseconds: lease
            )
            try bench.expect(saving, .stored, "the save")
            let read = try await broker.changes(id)
            try bench.expect(read.changes.map(\.progress), [[4, 0, 255]], "the progress that is read")
            try bench.expect(read.changes.map { $0.leaseEndsAt - read.time > 0 }, [true], "a lease in the future")
        },
        ConformanceCheck("A change whose lease has ended is taken over, and the older fence is refused") { bench in
            let id = OperationID()
            let broker = bench.broker
            _ = try await broker.addChange(id, definition: [1], progress: [0])
            _ = try await broker.takeChange(leaseMilliseconds: 0)
            let second = try await broker.takeChange(leaseMilliseconds: lease)
            try bench.expect(second?.fence, 2, "the fence of the second taking")
            func save(_ fence: Int64, _ progress: [UInt8], isEnd: Bool = false) async throws -> ChangeSaving {
                try await broker.saveChange(
                    id,
                    fence: fence,
                    progress: progress,
                    isEnd: isEnd,
                    leaseMilliseconds: lease
                )
            }
            try bench.expect(try await save(1, [7]), .lost, "a save with the older fence")
            try bench.expect(try await broker.changes(id).changes.first?.progress, [0], "the progress")
            try bench.expect(try await save(2, [8], isEnd: true), .stored, "the end")
            try bench.expect(try await save(2, [9]), .lost, "a save after the end")
            try bench.expect(try await broker.changes(nil).changes.map(\.isEnded), [true], "the list")
            try bench.expect(try await broker.takeChange(leaseMilliseconds: 0), nil, "a taking after the end")
        },
        ConformanceCheck("A stop is reported to the program that performs a change, and not after its end") { bench in
            let id = OperationID()
            let broker = bench.broker
            try bench.expect(try await broker.stopChange(id, by: "ann"), false, "the stop of an unknown change")
            _ = try await broker.addChange(id, definition: [1], progress: [0])
            try bench.expect(try await broker.stopChange(id, by: "ann"), true, "the stop")
            try bench.expect(try await broker.stopChange(id, by: "bob"), true, "a second stop")
            let taken = try await broker.takeChange(leaseMilliseconds: lease)
            try bench.expect(taken?.stopper, "ann", "who asked for the stop")
            let saving = try await broker.saveChange(
                id,
                fence: 1,
                progress: [1],
                isEnd: true,
                leaseMilliseconds: lease
            )
            try bench.expect(saving, .stopAsked, "the save")
            try bench.expect(try await broker.stopChange(id, by: "ann"), false, "the stop after the end")
        },
        ConformanceCheck("Ended changes make room for new ones; open ones stay, up to a limit") { bench in
            let broker = bench.broker
            for _ in 0..<StoredChange.openLimit {
                _ = try await broker.addChange(OperationID(), definition: [1], progress: [0])
            }
            try bench.expect(
                try await broker.addChange(OperationID(), definition: [1], progress: [0]),
                .full,
                "one more than the limit"
            )
            for _ in 0..<StoredChange.kept {
                guard let id = try await broker.takeChange(leaseMilliseconds: lease)?.id else {
                    return try bench.expect(false, true, "a change to take")
                }
                _ = try await broker.saveChange(id, fence: 1, progress: [], isEnd: true, leaseMilliseconds: lease)
                _ = try await broker.addChange(OperationID(), definition: [1], progress: [0])
            }
            let all = try await broker.changes(nil).changes
            try bench.expect(all.count, StoredChange.kept, "the number of stored changes")
            try bench.expect(all.count { !$0.isEnded }, StoredChange.openLimit, "the number of open ones")
        },
        ConformanceCheck("A change that a program leaves alone stays untaken, until it is removed") {
            bench in
            let broker = bench.broker
            let ids = [OperationID(), OperationID()].sorted { $0.description < $1.description }
            for id in ids { _ = try await broker.addChange(id, definition: [1], progress: [0]) }
            try bench.expect(try await broker.nextChange(leaving: [])?.id, ids[0], "the next change")
            let second = try await broker.nextChange(leaving: [ids[0]])
            try bench.expect(second?.id, ids[1], "the next change beside the one left alone")
            try bench.expect(try await broker.nextChange(leaving: Set(ids))?.id, nil, "no other change")
            let late = try await broker.takeChange(ids[1], fence: 1, leaseMilliseconds: lease)
            try bench.expect(late?.id, nil, "a taking with another fence")
            let taken = try await broker.takeChange(ids[1], fence: 0, leaseMilliseconds: lease)
            try bench.expect(taken?.fence, 1, "the fence of the taking")
            try bench.expect(try await broker.nextChange(leaving: [ids[0]])?.id, nil, "no change without a lease")
            try bench.expect(try await broker.changes(ids[0]).changes.first?.fence, 0, "the fence of the other")
            try bench.expect(try await broker.removeChange(ids[0]), true, "the removal")
            try bench.expect(try await broker.removeChange(ids[0]), false, "a second removal")
            try bench.expect(try await broker.changes(nil).changes.map(\.id), [ids[1]], "the changes that are left")
        },
    ]
}
