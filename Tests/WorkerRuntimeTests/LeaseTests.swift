import Operations
import Testing

@testable import WorkerRuntime

@Suite("The lease on a queue", .timeLimit(.minutes(60)))
struct LeaseTests {
    private let now = ContinuousClock.now

    private func operation(_ fence: Int64) -> HeldOperation {
        let header = OperationHeader(id: OperationID())
        return HeldOperation(ClaimedOperation(fence: fence, header: header, envelope: []), queue: 0, context: .none)
    }

    /// Returns a lease of one minute that holds operations with these fences.
    private func lease(_ fences: Int64...) -> Lease {
        var lease = Lease()
        renew(&lease, counted: 0, at: now)
        for fence in fences { _ = lease.take(operation(fence)) }
        return lease
    }

    /// Renews the lease for one minute, as an answered heartbeat does.
    @discardableResult
    private func renew(
        _ lease: inout Lease,
        counted: Int,
        isExchanging: Bool = false,
        mayOwnMore: Bool = false,
        at instant: ContinuousClock.Instant
    ) -> Bool {
        lease.renew(
            until: instant + .seconds(60),
            counted: counted,
            isExchanging: isExchanging,
            mayOwnMore: mayOwnMore,
            instant
        )
    }

    @Test("A lease begins with the first answered heartbeat and ends by the local clock")
    func time() {
        var lease = Lease()
        #expect(!lease.isValid(now) && !lease.mayStart(now))
        #expect(!renew(&lease, counted: 0, at: now))
        #expect(lease.isValid(now + .milliseconds(59_999)) && lease.mayStart(now))
        #expect(!lease.isValid(now + .seconds(60)))
        // A late answer does not shorten the lease.
        renew(&lease, counted: 0, at: now - .seconds(5))
        #expect(lease.until == now + .seconds(60))
    }

    @Test("After a lapse nothing starts before Redis confirms what is still owned")
    func lapse() {
        var lease = lease(1, 2)
        let later = now + .seconds(61)
        #expect(renew(&lease, counted: 2, at: later))
        #expect(lease.standing == .lapsed && lease.mustAsk && lease.epoch == 2)
        #expect(lease.isValid(later) && !lease.mayStart(later))
        lease.answered(epoch: 1, more: false)
        #expect(lease.standing == .lapsed)
        lease.answered(epoch: 2, more: true)
        #expect(lease.mustAsk && lease.mayStart(later))
        lease.answered(epoch: 2, more: false)
        #expect(!lease.mustAsk && lease.mayStart(later))
    }

    @Test("A refused lease counts as lapsed only if operations are held or may still come")
    func refused() {
        for (fences, isExchanging, mayOwnMore, isLapsed) in [
            ([], false, false, false), ([1], false, false, true), ([], true, false, true), ([], false, true, true),
        ] as [([Int64], Bool, Bool, Bool)] {
            var lease = lease()
            for fence in fences { _ = lease.take(operation(fence)) }
            lease.refuse()
            #expect(!lease.isValid(now))
            let mustAsk = renew(
                &lease,
                counted: fences.count,
                isExchanging: isExchanging,
                mayOwnMore: mayOwnMore,
                at: now
            )
            #expect(mustAsk == isLapsed && lease.mustAsk == isLapsed)
        }
    }

    @Test("With calls in flight, six heartbeats in a row with another count make the lease unsure")
    func mismatchesOfBusyWorker() {
        var lease = lease(1)
        for _ in 1...5 { #expect(!renew(&lease, counted: 0, isExchanging: true, at: now)) }
        #expect(!renew(&lease, counted: 1, isExchanging: true, at: now))
        for _ in 1...5 { #expect(!renew(&lease, counted: 2, isExchanging: true, at: now)) }
        #expect(renew(&lease, counted: 2, isExchanging: true, at: now))
        #expect(lease.standing == .unsure)
    }

    @Test("Without calls in flight, two heartbeats in a row with another count make the lease unsure")
    func mismatches() {
        var lease = lease(1)
        #expect(!renew(&lease, counted: 0, at: now))
        #expect(!renew(&lease, counted: 1, at: now))
        #expect(!renew(&lease, counted: 2, at: now))
        #expect(renew(&lease, counted: 2, at: now))
        #expect(lease.standing == .unsure && lease.epoch == 2 && lease.mayStart(now))
        lease.answered(epoch: 2, more: false)
        #expect(!renew(&lease, counted: 2, at: now))
    }

    @Test("A lease stays unsure if its epoch has grown since the reconcile call")
    func epochs() {
        var lease = lease()
        lease.raiseEpoch()
        lease.raiseEpoch()
        lease.answered(epoch: 2, more: false)
        #expect(lease.standing == .unsure)
        lease.answered(epoch: 3, more: false)
        #expect(lease.standing == .agreed)
    }

    @Test("A lease takes an operation once; another operation with the same fence replaces it")
    func fences() {
        var lease = lease()
        let (first, second) = (operation(7), operation(7))
        #expect(lease.take(first).isNew)
        #expect(!lease.take(first).isNew)
        let taken = lease.take(second)
        #expect(taken.isNew && taken.replaced === first && lease.held[7] === second)
        _ = lease.take(operation(3))
        #expect(lease.highestFence == 7 && lease.held.count == 2)
    }

    @Test("A lease owns an operation until Redis confirms its end or gives it to another worker")
    func ends() {
        var lease = lease(1, 2, 3)
        let (one, two) = (lease.held[1], lease.held[2])
        lease.confirm(one.map { [Ended(operation: $0, settlement: .returned(.front))] } ?? [])
        #expect(lease.lose([2, 9]).first === two && lease.held.keys.sorted() == [3])
        #expect(lease.highestFence == 3)
    }

    @Test("Cancel requests for operations yet to come are stored until the next heartbeat repeats them")
    func earlyCancels() {
        var lease = lease()
        lease.noteEarlyCancel(FencedCancel(fence: 1, OperationCancellation(reason: "one")))
        lease.noteEarlyCancel(FencedCancel(fence: 2, OperationCancellation(reason: "two")))
        #expect(lease.takeEarlyCancel(1)?.reason == "one" && lease.takeEarlyCancel(1) == nil)
        renew(&lease, counted: 0, at: now)
        #expect(lease.takeEarlyCancel(2) == nil)
        for fence in 1...600 as ClosedRange<Int64> {
            lease.noteEarlyCancel(FencedCancel(fence: fence, OperationCancellation(reason: "many")))
        }
        #expect(lease.takeEarlyCancel(Int64(SluiceDefaults.batch)) != nil)
        #expect(lease.takeEarlyCancel(Int64(SluiceDefaults.batch) + 1) == nil)
    }
}
