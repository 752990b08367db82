import Operations

// A group ends when its members have ended.
extension BrokerConformance {
    static let grouping: [ConformanceCheck] =
        groupEnds + manyMembers + membersAnew + groupCallbacks + groupRefusals + remoteGroups

    private static let groupEnds: [ConformanceCheck] = [
        ConformanceCheck("A group never runs: it is blocked until it is closed and its members have ended") { bench in
            let worker = try bench.worker()
            let group = try await bench.group()
            let members = try await bench.members(2, of: group)
            let running = try await bench.claim(worker, 9).operations
            try bench.expect(running.map(\.id), members, "the group is not claimed")
            _ = try await bench.complete(running[0], worker)
            let shown = try await bench.existing(group).links
            try bench.expect(shown.isOpen && shown.needCount == 2 && shown.unmetCount == 2, true, "one has not ended")
            _ = try await bench.complete(running[1], worker)
            try await bench.expectState(group, .blocked)
            try await bench.close(group)
            try await bench.expectState(group, .finished)
            try bench.expect(try await bench.claim(worker).operations.count, 0, "nothing can start")
            try bench.expect(try await bench.close(group, isOpen: false), .refused(.finished), "it has ended")
        },
        ConformanceCheck("An empty group finishes when closed; a closed group takes members until it has ended") {
            bench in
            let worker = try bench.worker()
            let (empty, group) = (try await bench.group(), try await bench.group())
            try await bench.close(empty)
            try await bench.expectState(empty, .finished)
            let first = try await bench.members(1, of: group)[0]
            try await bench.close(group)
            try bench.expect(try await bench.close(group, isOpen: false), .notOpen, "it is closed")
            let running = try await bench.claimOne(worker)
            try bench.expect(running.id, first, "the first")
            let second = try await bench.members(1, of: group)[0]
            _ = try await bench.complete(running, worker)
            try await bench.expectState(group, .blocked)
            let next = try await bench.claimOne(worker)
            try bench.expect(next.id, second, "the second")
            _ = try await bench.complete(next, worker)
            try await bench.expectState(group, .finished)
        },
        ConformanceCheck("A group with a dead member is dead, and finishes once that member finishes after a retry") {
            bench in
            let worker = try bench.worker()
            let group = try await bench.group()
            let last = try await bench.dependent(on: [OperationDependency(group, onFailure: .hold)])
            let members = try await bench.members(2, of: group)
            try await bench.close(group)
            let running = try await bench.claim(worker, 9).operations
            _ = try await bench.complete(running[0], worker)
            _ = try await bench.fail(running[1], worker, .dead)
            try await bench.expectState(group, .dead)
            try bench.expect(try await bench.existing(group).links.missCount, 1, "one has not finished")
            _ = try await bench.broker.retry([members[1]], by: "ann", queue: bench.queue)
            try await bench.expectState(group, .blocked)
            _ = try await bench.complete(try await bench.claimOne(worker), worker)
            try await bench.expectState(group, .finished)
            try await bench.expectState(last, .ready)
        },
        ConformanceCheck("Members of a retried group start at times of their own, spread over the given time") {
            bench in
            let worker = try bench.worker()
            let group = try await bench.group()
            let members = try await bench.members(8, of: group)
            try await bench.close(group)
            for running in try await bench.claim(worker, 9).operations {
                _ = try await bench.fail(running, worker, .dead)
            }
            let spread = Spread(.seconds(800), count: 1)
            _ = try await bench.broker.retryWithMembers([group], spread: spread, by: "ann", queue: bench.queue)
            try await bench.expectState(group, .blocked)
            let now = try await bench.snapshot().time
            var times: [Int64] = []
            for member in members {
                try await bench.expectState(member, .scheduled)
                times.append(try await bench.existing(member).record.header.readyAt - now)
            }
            // Each of four quarters has one at least, and no two are together.
            try bench.expect(Set(times.map { $0 / 200_000 }), [0, 1, 2, 3], "quarters with members")
            try bench.expect(Set(times.map { $0 / 10_000 }).count, 8, "different times")
        },
        ConformanceCheck("A retried member blocks its dead group again and may add members") { bench in
            let worker = try bench.worker()
            let group = try await bench.group()
            let member = try await bench.members(1, of: group)[0]
            try await bench.close(group)
            _ = try await bench.fail(try await bench.claimOne(worker), worker, .dead)
            try await bench.expectState(group, .dead)
            _ = try await bench.broker.retry([member], by: "ann", queue: bench.queue)
            try await bench.expectState(group, .blocked)
            let running = try await bench.claimOne(worker)
            let child = try await bench.members(1, of: group)[0]
            try await bench.expectState(group, .blocked)
            _ = try await bench.complete(running, worker)
            try await bench.expectState(group, .blocked)
            let next = try await bench.claimOne(worker)
            try bench.expect(next.id, child, "what was added")
            _ = try await bench.complete(next, worker)
            try await bench.expectState(group, .finished)
        },
        ConformanceCheck("Groups may be in groups") { bench in
            let worker = try bench.worker()
            let outer = try await bench.group()
            let inner = try await bench.group(in: outer)
            _ = try await bench.members(1, of: inner)
            try await bench.close(inner)
            try await bench.close(outer)
            _ = try await bench.complete(try await bench.claimOne(worker), worker)
            try await bench.expectState(inner, .finished)
            try await bench.expectState(outer, .finished)
        },
        ConformanceCheck("A retried member opens all groups that contain it, including outer groups") { bench in
            let worker = try bench.worker()
            let outermost = try await bench.group()
            let outer = try await bench.group(in: outermost)
            let inner = try await bench.group(in: outer)
            let last = try await bench.dependent(on: [OperationDependency(outermost, onFailure: .hold)])
            let member = try await bench.members(1, of: inner)[0]
            let groups = [inner, outer, outermost]
            for group in groups { try await bench.close(group) }
            _ = try await bench.fail(try await bench.claimOne(worker), worker, .dead)
            for group in groups { try await bench.expectState(group, .dead) }
            _ = try await bench.broker.retry([member], by: "ann", queue: bench.queue)
            for group in groups { try await bench.expectState(group, .blocked) }
            try bench.expect(try await bench.existing(outer).links.missCount, 0, "none has failed now")
            _ = try await bench.complete(try await bench.claimOne(worker), worker)
            for group in groups { try await bench.expectState(group, .finished) }
            try await bench.expectState(last, .ready)
        },
        ConformanceCheck("An enqueued operation can become a member; a removed member counts as not finished") {
            bench in
            let ids = try await bench.enqueue(2)
            let group = try await bench.group()
            let change = NeedsChange(group, added: OperationLinks(members: ids.map { DependencyName($0) }))
            try bench.expect(
                try await bench.broker.change(change, by: "ann", queue: bench.queue),
                .done(added: ids.map { DependencyName($0) }),
                "they are added"
            )
            try await bench.close(group)
            _ = try await bench.broker.remove([ids[0]], by: "ann", queue: bench.queue)
            try await bench.expectState(group, .blocked)
            _ = try await bench.broker.change(
                NeedsChange(group, removed: [DependencyName(ids[1])]),
                by: "ann",
                queue: bench.queue
            )
            try await bench.expectState(group, .dead)
        },
        ConformanceCheck("A cancelled group takes no more members, and ends as cancelled once its members have ended") {
            bench in
            let worker = try bench.worker()
            let (empty, group) = (try await bench.group(), try await bench.group())
            let members = try await bench.members(2, of: group)
            let running = try await bench.claimOne(worker)
            let request = CancelRequest(reason: "wrong", by: "ann")
            let outcomes = try await bench.broker.cancelWithMembers(
                [empty, group],
                request: request,
                queue: bench.queue
            )
            try bench.expect(outcomes, [.cancelled, .group], "the outcomes")
            try await bench.expectState(empty, .cancelled)
            try await bench.expectState(group, .blocked)
            try await bench.expectState(members[1], .cancelled)
            let late = NewOperation(envelope: BrokerBench.envelope(), links: OperationLinks(groups: [group]))
            try bench.expect(
                try await bench.broker.enqueue([late], queue: bench.queue),
                [.closedGroup(group)],
                "one more member"
            )
            _ = try await bench.fail(running, worker, .cancelled)
            try await bench.expectState(group, .cancelled)
            try bench.expect(try await bench.existing(group).cancel?.reason, "wrong", "why")
        },
    ]

    private static let manyMembers: [ConformanceCheck] = [
        ConformanceCheck("An open group with many members shows as open, with the number of its members") { bench in
            let group = try await bench.group()
            for _ in 0..<13 { _ = try await bench.members(50, of: group) }
            let shown = try await bench.existing(group).links
            try bench.expect(shown.isOpen && shown.needCount == 650 && shown.unmetCount == 651, true, "\(shown)")
            try await bench.close(group)
            let closed = try await bench.existing(group).links
            try bench.expect(
                !closed.isOpen && closed.needCount == 650 && closed.unmetCount == 650,
                true,
                "it is closed"
            )
        },
        ConformanceCheck("A dead group finishes when its last unfinished member is taken out") { bench in
            let worker = try bench.worker()
            let group = try await bench.group()
            let members = try await bench.members(2, of: group)
            try await bench.close(group)
            _ = try await bench.complete(try await bench.claimOne(worker), worker)
            _ = try await bench.fail(try await bench.claimOne(worker), worker, .dead)
            try await bench.expectState(group, .dead)
            let change = NeedsChange(group, removed: [DependencyName(members[1])])
            _ = try await bench.broker.change(change, by: "ann", queue: bench.queue)
            try await bench.expectState(group, .finished)
            let late = NewOperation(
                envelope: BrokerBench.envelope(),
                links: OperationLinks(callback: GroupCallback(.firstDeath, of: group))
            )
            let outcomes = try await bench.broker.enqueue([late], queue: bench.queue)
            try bench.expect(outcomes, [.closedGroup(group)], "a callback that comes late")
        },
    ]

    private static let membersAnew: [ConformanceCheck] = [
        ConformanceCheck("A removed member may be enqueued anew: it counts once, and the group waits for its end") {
            bench in
            let worker = try bench.worker()
            let group = try await bench.group()
            let member = try await bench.members(1, of: group)[0]
            // More dependents than one call notifies, so the group may not have been notified yet.
            for _ in 0..<60 { _ = try await bench.dependent(on: [OperationDependency(member, onFailure: .hold)]) }
            for round in 1...2 {
                _ = try await bench.broker.remove([member], by: "ann", queue: bench.queue)
                if round == 2 { while try await bench.broker.sweep(queue: bench.queue).more {} }
                let again = NewOperation(
                    id: member,
                    envelope: BrokerBench.envelope(),
                    links: OperationLinks(groups: [group])
                )
                try bench.expect(try await bench.broker.enqueue([again], queue: bench.queue), [.created], "again")
                let shown = try await bench.existing(group).links
                try bench.expect(
                    [shown.needCount, shown.unmetCount, shown.missCount],
                    [1, 2, 0],
                    "members, unmet, misses"
                )
            }
            try await bench.close(group)
            while try await bench.broker.sweep(queue: bench.queue).more {}
            try await bench.expectState(group, .blocked)
            _ = try await bench.complete(try await bench.claimOne(worker), worker)
            while try await bench.broker.sweep(queue: bench.queue).more {}
            try await bench.expectState(group, .finished)
        },
        ConformanceCheck("A group waits again for a removed member of another queue that is announced anew") { bench in
            let there = BrokerBench(bench.broker, queue: BrokerBench.otherQueue) { try await bench.advance($0) }
            let worker = try there.worker()
            let group = try await bench.group()
            let member = NewOperation(envelope: BrokerBench.envelope(), links: OperationLinks(tells: [bench.queue]))
            let name = DependencyName(member.id, queue: there.queue)
            for round in 1...2 {
                let change = NeedsChange(group, added: OperationLinks(members: [name]))
                _ = try await bench.broker.change(change, by: "ann", queue: bench.queue)
                _ = try await bench.broker.enqueue([member], queue: there.queue)
                guard round == 1 else { break }
                _ = try await bench.broker.remove([member.id], by: "ann", queue: there.queue)
                if let error = await bench.broker.relayEnds(of: there.queue).failure { throw error }
                try bench.expect(try await bench.existing(group).links.missCount, 1, "it was removed")
            }
            try await bench.close(group)
            try await bench.expectState(group, .blocked)
            _ = try await there.complete(try await there.claimOne(worker), worker)
            if let error = await bench.broker.relayEnds(of: there.queue).failure { throw error }
            try await bench.expectState(group, .finished)
        },
        ConformanceCheck("A group that has not ended waits again for a retried member") { bench in
            let worker = try bench.worker()
            let (group, callbacks, members, running) = try await bench.groupOfTwo(worker)
            _ = try await bench.fail(running[0], worker, .dead)
            _ = try await bench.broker.retry([members[0]], by: "ann", queue: bench.queue)
            _ = try await bench.complete(running[1], worker)
            try await bench.expectState(group, .blocked)
            try await bench.expectState(callbacks.end, .blocked)
            for again in try await bench.claim(worker, 9).operations { _ = try await bench.complete(again, worker) }
            try await bench.expectState(group, .finished)
            try await bench.expectState(callbacks.end, .ready)
        },
        ConformanceCheck("Adding an existing member again succeeds, even in a group that takes no more") { bench in
            let group = try await bench.group()
            let member = try await bench.members(1, of: group)[0]
            let worker = try bench.worker()
            _ = try await bench.claimOne(worker)
            let request = CancelRequest(reason: "", by: "ann")
            _ = try await bench.broker.cancelWithMembers([group], request: request, queue: bench.queue)
            let change = NeedsChange(group, added: OperationLinks(members: [DependencyName(member)]))
            let outcome = try await bench.broker.change(change, by: "ann", queue: bench.queue)
            try bench.expect(outcome, .done(added: []), "the outcome for an existing member")
        },
        ConformanceCheck("A late first-death callback starts at once; a group refuses more than eight") { bench in
            let worker = try bench.worker()
            let group = try await bench.group()
            _ = try await bench.members(1, of: group)
            func callback() -> NewOperation {
                NewOperation(
                    envelope: BrokerBench.envelope(),
                    links: OperationLinks(callback: GroupCallback(.firstDeath, of: group))
                )
            }
            for number in 1...9 {
                let outcomes = try await bench.broker.enqueue([callback()], queue: bench.queue)
                try bench.expect(outcomes, [number <= 8 ? .created : .closedGroup(group)], "callback \(number)")
            }
            _ = try await bench.fail(try await bench.claimOne(worker), worker, .dead)
            let late = callback()
            _ = try await bench.broker.enqueue([late], queue: bench.queue)
            try await bench.expectState(late.id, .ready)
        },
    ]
}
