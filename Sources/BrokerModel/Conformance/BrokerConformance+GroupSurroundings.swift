import Operations

// Groups: their callbacks, their refusals, and members in other queues.
extension BrokerConformance {
    static let groupCallbacks: [ConformanceCheck] = [
        ConformanceCheck("Callbacks of a group start once, and callbacks that are not needed are removed") { bench in
            let worker = try bench.worker()
            let group = try await bench.group()
            let callbacks = try await bench.callbacks(of: group)
            _ = try await bench.members(1, of: group)
            try await bench.close(group)
            _ = try await bench.complete(try await bench.claimOne(worker), worker)
            try await bench.expectState(group, .finished)
            try await bench.expectState(callbacks.success, .ready)
            try await bench.expectState(callbacks.end, .ready)
            try bench.expect(try await bench.detail(callbacks.firstDeath) == nil, true, "no member is dead")
        },
        ConformanceCheck("The first death starts its callback at once; the success callback waits for a retry") {
            bench in
            let worker = try bench.worker()
            let (group, callbacks, members, running) = try await bench.groupOfTwo(worker)
            _ = try await bench.fail(running[0], worker, .dead)
            try await bench.expectState(callbacks.firstDeath, .ready)
            try await bench.expectState(callbacks.end, .blocked)
            _ = try await bench.complete(try await bench.claimOne(worker), worker)
            _ = try await bench.fail(running[1], worker, .dead)
            try await bench.expectState(callbacks.firstDeath, .finished)
            try await bench.expectState(callbacks.end, .ready)
            try await bench.expectState(callbacks.success, .blocked)
            _ = try await bench.complete(try await bench.claimOne(worker), worker)
            _ = try await bench.broker.retry(members, by: "ann", queue: bench.queue)
            for again in try await bench.claim(worker, 9).operations { _ = try await bench.complete(again, worker) }
            try await bench.expectState(callbacks.success, .ready)
            try await bench.expectState(callbacks.end, .finished)
        },
        ConformanceCheck("A cancelled group removes its success callback") { bench in
            let group = try await bench.group()
            let callbacks = try await bench.callbacks(of: group)
            let request = CancelRequest(reason: "", by: "ann")
            _ = try await bench.broker.cancelWithMembers([group], request: request, queue: bench.queue)
            try await bench.expectState(group, .cancelled)
            try bench.expect(try await bench.detail(callbacks.success) == nil, true, "it has not finished")
            try bench.expect(try await bench.detail(callbacks.firstDeath) == nil, true, "no member is dead")
            try await bench.expectState(callbacks.end, .ready)
        },
        ConformanceCheck("A cancelled callback cannot be retried once its group is cancelled as well") { bench in
            let group = try await bench.group()
            let success = try await bench.callbacks(of: group).success
            let request = CancelRequest(reason: "", by: "ann")
            _ = try await bench.broker.cancel([success], request: request, queue: bench.queue)
            let early = try await bench.broker.retry([success], by: "ann", queue: bench.queue)
            try bench.expect(early, [.done], "the retry while the group may still finish")
            _ = try await bench.broker.cancel([success], request: request, queue: bench.queue)
            _ = try await bench.broker.cancelWithMembers([group], request: request, queue: bench.queue)
            let late = try await bench.broker.retry([success], by: "ann", queue: bench.queue)
            try bench.expect(late, [.refused(.cancelled)], "the retry of a callback that can never start")
        },
        ConformanceCheck("The removal of a dead group cancels its success callback, which cannot be released") {
            bench in
            let worker = try bench.worker()
            let (group, callbacks) = try await bench.deadGroup(worker)
            let released = try await bench.broker.release([callbacks.success], by: "ann", queue: bench.queue)
            try bench.expect(released, [.refused(.blocked)], "its group is dead")
            _ = try await bench.broker.remove([group], by: "ann", queue: bench.queue)
            try await bench.expectState(callbacks.success, .cancelled)
            let reason = try await bench.detail(callbacks.success)?.cancel?.reason
            try bench.expect(reason, "depends on \(group), which was removed", "the reason")
        },
        ConformanceCheck("A sweep cancels the success callback of a dead group that was trimmed") { bench in
            let worker = try bench.worker()
            let (group, callbacks) = try await bench.deadGroup(worker)
            try await bench.advance(.milliseconds(SluiceDefaults.retention[.dead]?.ageMilliseconds ?? 0))
            try bench.beat(worker)
            _ = try await bench.enqueue()
            let last = try await bench.claim(worker, 9).operations.last
            if let last { _ = try await bench.fail(last, worker, .dead) }
            try bench.expect(try await bench.detail(group) == nil, true, "it is trimmed")
            while try await bench.broker.sweep(queue: bench.queue).more {}
            try await bench.expectState(callbacks.success, .cancelled)
        },
    ]

    static let groupRefusals: [ConformanceCheck] = [
        ConformanceCheck("Only an unfinished group takes members, and a group waits for members only") { bench in
            let (group, plain) = (try await bench.group(), try await bench.enqueue()[0])
            try await bench.close(group)
            for closed in [group, plain, OperationID()] {
                let new = NewOperation(envelope: BrokerBench.envelope(), links: OperationLinks(groups: [closed]))
                let outcomes = try await bench.broker.enqueue([new], queue: bench.queue)
                try bench.expect(outcomes, [.closedGroup(closed)], "the outcome")
            }
            let open = try await bench.group()
            let wrong = [
                NeedsChange(open, added: OperationLinks(after: [OperationDependency(plain)])),
                NeedsChange(plain, added: OperationLinks(members: [DependencyName(open)])),
            ]
            for change in wrong {
                let outcome = try await bench.broker.change(change, by: "ann", queue: bench.queue)
                try bench.expect(outcome, .otherKind, "the outcome")
            }
        },
        ConformanceCheck("A group can be neither released nor retried") { bench in
            let worker = try bench.worker()
            let group = try await bench.group()
            _ = try await bench.members(1, of: group)
            let released = try await bench.broker.release([group], by: "ann", queue: bench.queue)
            try bench.expect(released, [.refused(.blocked)], "a release")
            try await bench.close(group)
            _ = try await bench.fail(try await bench.claimOne(worker), worker, .dead)
            let retried = try await bench.broker.retry([group], by: "ann", queue: bench.queue)
            try bench.expect(retried, [.refused(.dead)], "a retry")
        },
        ConformanceCheck("An open group whose opener is silent for a lease is closed, or cancelled with its members") {
            bench in
            let worker = try bench.worker()
            let closing = try await bench.group()
            let cancelling = try await bench.group(.cancel)
            let member = try await bench.members(1, of: cancelling)[0]
            for _ in 0..<11 { try await bench.pass(seconds: 5, worker) }
            let renewal = NeedsChange(closing, part: .part)
            _ = try await bench.broker.change(renewal, by: "ann", queue: bench.queue)
            for _ in 0..<2 { try await bench.pass(seconds: 5, worker) }
            try bench.expect(
                try await bench.broker.ask(queue: bench.queue).cancelled,
                [cancelling],
                "what is cancelled"
            )
            try await bench.expectState(closing, .blocked)
            for _ in 0..<10 { try await bench.pass(seconds: 5, worker) }
            // The worker that asked first has died without an action, so the group is named again.
            if let error = await bench.broker.relayEnds(of: bench.queue).failure { throw error }
            try await bench.expectState(closing, .finished)
            try await bench.expectState(member, .cancelled)
            try await bench.expectState(cancelling, .cancelled)
            for _ in 0..<3 { try await bench.pass(seconds: 5, worker) }
            try bench.expect(try await bench.broker.ask(queue: bench.queue).cancelled, [], "what is cancelled")
        },
        ConformanceCheck("After an outage the opener of a group has another lease of time") { bench in
            let worker = try bench.worker()
            let group = try await bench.group(.cancel)
            try await bench.pass(seconds: 5, worker)
            try await bench.pass(seconds: 120, worker)
            try bench.expect(try await bench.broker.ask(queue: bench.queue).cancelled, [], "what is cancelled")
            try await bench.expectState(group, .blocked)
            _ = try await bench.broker.change(NeedsChange(group, part: .part), by: "ann", queue: bench.queue)
            try await bench.close(group)
            try await bench.expectState(group, .finished)
        },
    ]

    static let remoteGroups: [ConformanceCheck] = [
        ConformanceCheck("A group waits for members of another queue even before their enqueue") { bench in
            let other = BrokerBench.otherQueue
            let there = BrokerBench(bench.broker, queue: other) { try await bench.advance($0) }
            let worker = try there.worker()
            let group = try await bench.group()
            let member = NewOperation(envelope: BrokerBench.envelope(), links: OperationLinks(tells: [bench.queue]))
            let name = DependencyName(member.id, queue: other)
            let change = NeedsChange(group, added: OperationLinks(members: [name]))
            let outcome = try await bench.broker.change(change, by: "ann", queue: bench.queue)
            try bench.expect(outcome, .done(added: [name]), "the outcome")
            try await bench.close(group)
            try await bench.expectState(group, .blocked)
            _ = try await bench.broker.enqueue([member], queue: other)
            _ = try await there.fail(try await there.claimOne(worker), worker, .dead)
            _ = await bench.broker.relayEnds(of: other)
            try await bench.expectState(group, .dead)
            _ = try await bench.broker.retry([member.id], by: "ann", queue: other)
            _ = try await there.complete(try await there.claimOne(worker), worker)
            _ = await bench.broker.relayEnds(of: other)
            try await bench.expectState(group, .finished)
        },
        ConformanceCheck("A retry of a member in another queue opens all groups around it before the call returns") {
            bench in
            let there = BrokerBench(bench.broker, queue: BrokerBench.otherQueue) { try await bench.advance($0) }
            let worker = try there.worker()
            let outer = try await there.group()
            var links = OperationLinks(group: GroupTerms(ifAbandoned: .close, leaseMilliseconds: 60_000))
            links.tells = [there.queue]
            let group = NewOperation(envelope: BrokerBench.envelope(), links: links)
            let member = NewOperation(envelope: BrokerBench.envelope(), links: OperationLinks(tells: [bench.queue]))
            func announce(_ name: DependencyName, to group: OperationID, in home: BrokerBench) async throws {
                let change = NeedsChange(group, added: OperationLinks(members: [name]))
                _ = try await home.broker.change(change, by: "ann", queue: home.queue)
                try await home.close(group)
            }
            _ = try await bench.broker.enqueue([group], queue: bench.queue)
            try await announce(DependencyName(group.id, queue: bench.queue), to: outer, in: there)
            _ = try await there.broker.enqueue([member], queue: there.queue)
            try await announce(DependencyName(member.id, queue: there.queue), to: group.id, in: bench)
            func relayEnds() async throws {
                for queue in [there.queue, bench.queue] {
                    if let error = await bench.broker.relayEnds(of: queue).failure { throw error }
                }
            }
            _ = try await there.fail(try await there.claimOne(worker), worker, .dead)
            try await relayEnds()
            try await bench.expectState(group.id, .dead)
            try await there.expectState(outer, .dead)
            let outcomes = try await bench.broker.retryWithMembers([outer], by: "ann", queue: there.queue)
            try bench.expect(outcomes, [.done], "the outcome")
            try await bench.expectState(group.id, .blocked)
            try await there.expectState(outer, .blocked)
            _ = try await there.complete(try await there.claimOne(worker), worker)
            try await relayEnds()
            try await bench.expectState(group.id, .finished)
            try await there.expectState(outer, .finished)
        },
        ConformanceCheck("A member whose producer died before the enqueue counts as removed after 10 minutes") {
            bench in
            let group = try await bench.group()
            let name = DependencyName(OperationID(), queue: BrokerBench.otherQueue)
            let change = NeedsChange(group, added: OperationLinks(members: [name]))
            _ = try await bench.broker.change(change, by: "ann", queue: bench.queue)
            try await bench.close(group)
            for _ in 0..<2 {
                try await bench.expectState(group, .blocked)
                try await bench.advance(.seconds(300))
                if let error = await bench.broker.relayEnds(of: bench.queue).failure { throw error }
            }
            try await bench.expectState(group, .dead)
        },
        ConformanceCheck(
            "A group hears that a member of another queue was removed before the group was announced there"
        ) {
            bench in
            let group = try await bench.group()
            let name = DependencyName(OperationID(), queue: BrokerBench.otherQueue)
            var links = OperationLinks(members: [name])
            _ = try await bench.broker.change(NeedsChange(group, added: links), by: "ann", queue: bench.queue)
            try await bench.close(group)
            links.said[name] = RemoteState(name.id, .removed, sequence: 1)
            _ = try await bench.broker.change(NeedsChange(group, added: links), by: "ann", queue: bench.queue)
            try await bench.expectState(group, .dead)
        },
        ConformanceCheck("A cancel of a group reaches its members in other queues and its inner groups") { bench in
            let other = BrokerBench.otherQueue
            let there = BrokerBench(bench.broker, queue: other) { try await bench.advance($0) }
            let group = try await bench.group()
            let inner = try await bench.group(in: group)
            let nested = try await bench.members(1, of: inner)[0]
            let member = try await there.enqueue()[0]
            let said = try await bench.broker.link([member], in: other, from: bench.queue)
            var links = OperationLinks(members: [DependencyName(member, queue: other)])
            links.said[DependencyName(member, queue: other)] = said[0]
            _ = try await bench.broker.change(NeedsChange(group, added: links), by: "ann", queue: bench.queue)
            let request = CancelRequest(reason: "", by: "ann")
            _ = try await bench.broker.cancelWithMembers([group], request: request, queue: bench.queue)
            try await there.expectState(member, .cancelled)
            try await bench.expectState(nested, .cancelled)
            try await bench.expectState(inner, .cancelled)
            _ = await bench.broker.relayEnds(of: other)
            try await bench.expectState(group, .cancelled)
        },
    ]
}
