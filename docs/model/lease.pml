/*
 * Claim, lease, fence and cancel of one queue: what Redis stores, two workers, the sweeper, a canceller, and what may break.
 * Every script is one atomic step, as in Redis. docs/model.md says what is modelled and what is not; scripts/model runs it.
 *
 * -D breaks one rule each, and must make the search find an error: NO_FENCE NO_INFLIGHT NO_SWEEPER NO_RECONCILE NO_EPOCH
 * NO_SELF_FENCE NO_HOLD NO_LAPSE_EPOCH NO_ORDER NO_OUTBOX NO_CAP NO_FLOOR RECOVER_ALIVE RECOVER_KEEPS_LEASE NO_FENCE_MARK
 * NO_SEQUENCE_MARK NO_BATCH.
 */

#ifndef OPS
#define OPS 2
#endif
/* The operation without a record: the second, if there are two. */
#ifndef UNTRACKED
#define UNTRACKED 1
#endif
/* How often things may go wrong, each. */
#ifndef LOST
#define LOST 1
#endif
#ifndef MUTES
#define MUTES 1
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#ifndef RETURNS
#define RETURNS 1
#endif
#ifndef CANCELS
#define CANCELS 1
#endif
#ifndef RETRIES
#define RETRIES 0
#endif
/* Redis is out of everybody's reach. */
#ifndef OUTAGES
#define OUTAGES 0
#endif
/* A supervisor that knows of the death of its worker. */
#ifndef RECOVERIES
#define RECOVERIES 0
#endif
/* Cancels of the whole queue; there may be one. */
#ifndef WIPES
#define WIPES 0
#endif

#define WORKERS 2
#define ROOM 2            /* entries of a worker's in-flight hash that fit here; the slots allow one */
#define MAX_ATTEMPTS 2
#define MAX_DELIVERIES 2

mtype = { absent, valid, lapsed };                                        /* a lease */
mtype = { untracked, ready, executing, retrying, finished, dead, cancelled };  /* a record; untracked = none */
mtype = { none, claim, finish, finishAndClaim, fail, cancelIt, giveBack, reconcile };  /* a call, or how a body ended */
mtype = { nothing, waiting, running, over };                              /* what a worker does with what it holds */

/* ---- Redis ---- */
byte lane[OPS];           /* references or elements that may be claimed */
byte stale[OPS];         /* references left behind in a lane, of an older revision */
byte staleCount;          /* the total that the scripts keep */
bool isDelayed[OPS];      /* in the set of retrying operations */
byte endings[OPS];        /* entries in the sets of ended operations; an untracked one that finished has left */
mtype state[OPS];         /* of the record */
byte failed[OPS];         /* attempts that failed */
byte delivery[OPS];
bool intent[OPS];         /* a cancel for an operation without a record */
byte batch[OPS];          /* what the cancel of the whole queue has renamed away: references and elements */
bool isBelow[OPS];        /* its sequence is not above cancelledSequence */
bool isGap;               /* nobody has beaten for so long that a lease may have lapsed: the next beat notices */
bool isFloor;             /* leaseFloor has not passed: nobody is taken for dead */

typedef Hash {
    byte fence[ROOM];     /* 0 = no entry */
    byte op[ROOM];
    bool order[ROOM];     /* a cancel is requested */
    bool isBelow[ROOM];   /* the fence is not above cancelledFence */
    bool isStarted[ROOM]; /* for the properties: its body was started */
}
Hash inflight[WORKERS];
mtype lease[WORKERS];
byte epochOf[WORKERS];

/* ---- Workers ---- */
typedef Worker {
    bool isAlive;
    bool isMute;          /* its heartbeats do not get through: an outage, a pause, a stopped process */
    bool believes;        /* it knows its lease to be valid, by its own clock */
    bool needsReconcile;
    byte epoch;
    byte fence;           /* of what it holds, 0 = nothing */
    byte op;
    mtype phase;
    mtype outcome;
    bool isCancelled;     /* the cancel has reached it */
    bool isRepeat;        /* its end was sent and not answered */
    mtype call;           /* under way, one at a time */
    byte callEpoch;       /* the epoch it was sent with */
    bool isAnswered;
    byte foundFence;      /* the answer: what was handed out or found */
    byte foundOp;
    mtype refusal;        /* absent = no lease, lapsed = stale epoch, none */
    bool isLost;          /* reconcile: what the worker holds is not its own */
}
Worker w[WORKERS];

/* ---- A request that its sender has given up; Redis may still execute it ---- */
mtype lateCall = none;
byte lateWorker, lateEpoch, lateFence, lateOp;

/* ---- What may still break ---- */
byte lost = LOST, mutes = MUTES, deaths = DEATHS, returns = RETURNS, cancels = CANCELS, retries = RETRIES;
byte outages = OUTAGES, recoveries = RECOVERIES, wipes = WIPES;
bool isOut;               /* nothing reaches Redis now */

/* ---- What only the properties look at ---- */
bool wasAsked[OPS];       /* a cancel was answered "requested" or "cancelled" */

/* Scratch, outside the state: whatever uses it is one d_step, so that nothing reads a value left by another branch. */
hidden byte i, j, held, proof, fence, wasRemoved, wasOrdered;

/* It waits in the batch: it counts as cancelled, and no sweep has cleared it away yet. */
#define IN_BATCH(o) (batch[o] > 0 && isBelow[o] && (state[o] == ready || state[o] == retrying || state[o] == untracked))

/* An operation is in exactly one place, and a record says which. */
inline check() {
    d_step {
        for (i : 0 .. OPS - 1) {
            held = 0;
            for (j : 0 .. ROOM - 1) {
                held = held + (inflight[0].fence[j] != 0 && inflight[0].op[j] == i);
                held = held + (inflight[1].fence[j] != 0 && inflight[1].op[j] == i)
            }
            assert(lane[i] + held + isDelayed[i] + endings[i] + IN_BATCH(i) == 1);
            assert(state[i] != ready || lane[i] + IN_BATCH(i) == 1);
            assert(state[i] != executing || held == 1);
            assert(state[i] != retrying || isDelayed[i] + IN_BATCH(i) == 1);
            assert((state[i] != finished && state[i] != dead && state[i] != cancelled) || endings[i] == 1);
            assert(delivery[i] <= MAX_DELIVERIES && failed[i] <= MAX_ATTEMPTS)
        }
        /* A hash of what somebody holds always has a lease, so that a sweeper finds it. */
        for (i : 0 .. WORKERS - 1) {
            assert(lease[i] != absent || (inflight[i].fence[0] == 0 && inflight[i].fence[1] == 0));
            assert(inflight[i].fence[0] == 0 || inflight[i].fence[1] == 0)
        }
        held = 0;
        for (i : 0 .. OPS - 1) { held = held + stale[i] }
        assert(held == staleCount)
    }
}

#if OPS > 1
#define SOMETHING_READY (lane[0] + lane[1] + stale[0] + stale[1] > 0)
#else
#define SOMETHING_READY (lane[0] + stale[0] > 0)
#endif

/* ---- Parts of scripts ---- */

#ifdef NO_FENCE_MARK
#define FENCE_MARK(me, j) false
#else
#define FENCE_MARK(me, j) inflight[me].isBelow[j]
#endif

/* HDEL: the proof that the caller owns the operation. */
inline release(me, itsFence, itsOp) {
    wasRemoved = false;
    wasOrdered = false;
    for (j : 0 .. ROOM - 1) {
        if
        :: itsFence != 0 && inflight[me].fence[j] == itsFence ->
            wasRemoved = true;
            wasOrdered = inflight[me].order[j] || FENCE_MARK(me, j);
            inflight[me].fence[j] = 0;
            inflight[me].op[j] = 0;
            inflight[me].order[j] = false;
            inflight[me].isBelow[j] = false;
            inflight[me].isStarted[j] = false
        :: else
        fi
    }
#ifdef NO_FENCE
    wasRemoved = true
#endif
}

inline endAs(itsOp, itsState) {
    endings[itsOp]++;
    state[itsOp] = itsState
}

inline putBack(itsOp) {
    assert(!wasAsked[itsOp]);
    lane[itsOp]++;
    if
    :: state[itsOp] != untracked -> state[itsOp] = ready
    :: else
    fi
}

/* ---- Scripts ---- */

inline doSettle(me, itsFence, itsOp, how) {
    d_step {
        release(me, itsFence, itsOp);
        if
        :: !wasRemoved                                   /* stale or a repeat: nothing changes */
        :: wasRemoved && (how == finish || how == finishAndClaim) ->
            if
            :: state[itsOp] == untracked -> endings[itsOp]++     /* leaves Redis */
            :: else -> endAs(itsOp, finished)
            fi
        :: wasRemoved && how == cancelIt -> endAs(itsOp, cancelled)
        :: wasRemoved && how == fail ->
            failed[itsOp]++;
            if
            :: failed[itsOp] >= MAX_ATTEMPTS -> endAs(itsOp, dead)
            :: else ->
                if
                :: wasOrdered -> endAs(itsOp, cancelled)
                :: else ->
                    assert(!wasAsked[itsOp]);
                    isDelayed[itsOp] = true;
                    delivery[itsOp] = 1;
                    state[itsOp] = retrying
                fi
            fi
        :: wasRemoved && how == giveBack ->
            if
            :: wasOrdered -> endAs(itsOp, cancelled)
            :: else -> putBack(itsOp)
            fi
        fi
    }
}

/* Redis counts fences up. Here the lowest number that nobody refers to any more serves as well, and keeps the states few. */
#define IS_USED(n) (n == lateFence || n == w[0].fence || n == w[1].fence || n == w[0].foundFence || n == w[1].foundFence \
    || n == inflight[0].fence[0] || n == inflight[0].fence[1] || n == inflight[1].fence[0] || n == inflight[1].fence[1])

inline chooseFence() {
    fence = 1;
    do
    :: IS_USED(fence) -> fence++
    :: else -> break
    od
}

/* What a claim hands out goes to foundFence and foundOp of the worker, if `heard`. */
inline handOut(me, itsOp, heard) {
    d_step {
        lane[itsOp]--;
        if
        :: state[itsOp] == untracked && intent[itsOp] ->
            intent[itsOp] = false;
            endAs(itsOp, cancelled)
        :: else ->
            chooseFence();
#ifndef NO_INFLIGHT
            j = (inflight[me].fence[0] != 0);
            assert(inflight[me].fence[j] == 0);
            inflight[me].fence[j] = fence;
            inflight[me].op[j] = itsOp;
#endif
            if
            :: state[itsOp] != untracked ->
                state[itsOp] = executing
            :: else
            fi;
            if
            :: heard ->
                w[me].foundFence = fence;
                w[me].foundOp = itsOp
            :: else
            fi
        fi
    }
}

/* A reference of an older revision is dropped. */
inline takeStale(itsOp) {
    stale[itsOp]--;
    staleCount--
}

/* The order within the lanes does not matter here, so a claim may take any. */
inline doClaim(me, itsEpoch, heard) {
    if
    :: lease[me] == absent || (lease[me] == lapsed && !isFloor) ->
        if
        :: heard -> w[me].refusal = absent
        :: else
        fi
#ifndef NO_EPOCH
    :: (lease[me] == valid || (lease[me] == lapsed && isFloor)) && epochOf[me] > itsEpoch ->
        if
        :: heard -> w[me].refusal = lapsed
        :: else
        fi
#endif
    :: else ->
        if
        :: lane[0] > 0 -> handOut(me, 0, heard)
        :: stale[0] > 0 -> takeStale(0)
#if OPS > 1
        :: lane[1] > 0 -> handOut(me, 1, heard)
        :: stale[1] > 0 -> takeStale(1)
#endif
        :: !SOMETHING_READY
        fi
    fi
}

inline doReconcile(me, itsEpoch, heard) {
    d_step {
        if
        :: epochOf[me] < itsEpoch -> epochOf[me] = itsEpoch
        :: else
        fi;
        if
        :: heard ->
            w[me].isLost = (w[me].fence != 0);
            for (j : 0 .. ROOM - 1) {
                if
                :: inflight[me].fence[j] == 0
                :: inflight[me].fence[j] != 0 && inflight[me].fence[j] == w[me].fence -> w[me].isLost = false
                :: else ->
                    w[me].foundFence = inflight[me].fence[j];
                    w[me].foundOp = inflight[me].op[j]
                fi
            }
        :: else
        fi;
        j = 0
    }
}

inline recover(me, itsOp) {
    if
    :: wasOrdered -> endAs(itsOp, cancelled)
#ifndef NO_CAP
    :: !wasOrdered && delivery[itsOp] >= MAX_DELIVERIES -> endAs(itsOp, dead)
    :: !wasOrdered && delivery[itsOp] < MAX_DELIVERIES ->
#else
    :: else ->
#endif
        delivery[itsOp]++;
        putBack(itsOp)
    fi
}

inline doSweep(me) {
    d_step {
#if MUTES == 0
        assert(!w[me].isAlive);                      /* an outage of all is no death */
#endif
        recoverAll(me);
        lease[me] = absent
    }
}

/* Of a worker whose process is known to have ended, whatever its lease and the floor say. */
inline doRecover(me) {
    d_step {
        recoverAll(me);
#ifndef RECOVER_KEEPS_LEASE
        lease[me] = absent
#endif
    }
}

inline recoverAll(me) {
        for (i : 0 .. ROOM - 1) {
            if
            :: inflight[me].fence[i] != 0 ->
                held = inflight[me].op[i];
                proof = inflight[me].fence[i];
                release(me, proof, held);
                recover(me, held)
            :: else
            fi
        }
}

/* Waiting ones end at once. For a running one the order is stored under its fence; what has no record gets an intent. */
inline doCancel(itsOp) {
    d_step {
        if
#ifdef NO_BATCH
        :: isBelow[itsOp] && (state[itsOp] == ready || state[itsOp] == retrying) ->
            if
            :: state[itsOp] == ready -> staleCount++
            :: else
            fi;
            endAs(itsOp, cancelled)
#endif
        :: state[itsOp] == ready && !isBelow[itsOp] ->
            lane[itsOp]--;
            stale[itsOp]++;
            staleCount++;
            endAs(itsOp, cancelled);
            wasAsked[itsOp] = true
        :: state[itsOp] == retrying && !isBelow[itsOp] ->
            isDelayed[itsOp] = false;
            endAs(itsOp, cancelled);
            wasAsked[itsOp] = true
        :: state[itsOp] == untracked && lane[itsOp] == 1 ->
            intent[itsOp] = true;
            wasAsked[itsOp] = true
        :: lane[itsOp] + isDelayed[itsOp] + endings[itsOp] + IN_BATCH(itsOp) == 0 ->
            wasAsked[itsOp] = true;
#ifndef NO_ORDER
            for (i : 0 .. WORKERS - 1) {
                for (j : 0 .. ROOM - 1) {
                    if
                    :: inflight[i].fence[j] != 0 && inflight[i].op[j] == itsOp -> inflight[i].order[j] = true
                    :: else
                    fi
                }
            }
#endif
        :: else                                      /* it has ended, or lies in the batch */
        fi;
        i = 0
    }
}

/* The whole queue: lanes and sets are renamed, the counters of sequence and fence say what is meant. */
inline doWipe() {
    d_step {
        for (i : 0 .. OPS - 1) {
            batch[i] = batch[i] + lane[i] + stale[i] + isDelayed[i];
            lane[i] = 0;
            stale[i] = 0;
            isDelayed[i] = false;
            isBelow[i] = true;
            wasAsked[i] = wasAsked[i] || endings[i] == 0
        }
        staleCount = 0;
        for (i : 0 .. WORKERS - 1) {
            for (j : 0 .. ROOM - 1) {
                inflight[i].isBelow[j] = (inflight[i].fence[j] != 0)
            }
        }
        i = 0;
        j = 0
    }
}

#ifdef NO_SEQUENCE_MARK
#define SEQUENCE_MARK(o) true
#else
#define SEQUENCE_MARK(o) isBelow[o]
#endif

/* Clears one reference or element of the batch away; one that an operator has made ready again meanwhile is not meant. */
inline doBury(itsOp) {
    d_step {
        if
        :: state[itsOp] == untracked -> endings[itsOp]++     /* it was counted when the queue was cancelled */
        :: (state[itsOp] == ready || state[itsOp] == retrying) && SEQUENCE_MARK(itsOp) -> endAs(itsOp, cancelled)
        :: else
        fi;
        batch[itsOp]--
    }
}

/* An operator's retry: a new revision, so references left behind stay stale. */
inline doRetry(itsOp) {
    d_step {
        if
        :: endings[itsOp] > 0 -> endings[itsOp]--
        :: else                                      /* in the batch */
        fi;
        isBelow[itsOp] = false;                      /* a new sequence */
        lane[itsOp]++;
        state[itsOp] = ready;
        failed[itsOp] = 0;
        delivery[itsOp] = 1;
        wasAsked[itsOp] = false
    }
}

/* ---- Redis executes what arrives, at some time ---- */

inline execute(me) {
    if
    :: w[me].call == claim -> doClaim(me, w[me].callEpoch, true)
    :: w[me].call == reconcile -> doReconcile(me, w[me].callEpoch, true)
    :: else ->
        doSettle(me, w[me].fence, w[me].op, w[me].call);
        if
        :: w[me].call == finishAndClaim -> doClaim(me, w[me].callEpoch, true)
        :: else
        fi
    fi;
    w[me].isAnswered = true
}

inline forgetLate() {
    lateCall = none;
    lateWorker = 0;
    lateEpoch = 0;
    lateFence = 0;
    lateOp = 0
}

inline executeLate() {
    if
    :: lateCall == claim -> doClaim(lateWorker, lateEpoch, false)
    :: lateCall == reconcile -> doReconcile(lateWorker, lateEpoch, false)
    :: else ->
        doSettle(lateWorker, lateFence, lateOp, lateCall);
        if
        :: lateCall == finishAndClaim -> doClaim(lateWorker, lateEpoch, false)
        :: else
        fi
    fi;
    forgetLate()
}

/* ---- Workers ---- */

inline forgetHeld(me) {
    w[me].fence = 0;
    w[me].op = 0;
    w[me].phase = nothing;
    w[me].outcome = none;
    w[me].isCancelled = false;
    w[me].isRepeat = false
}

inline forgetCall(me) {
    w[me].call = none;
    w[me].callEpoch = 0;
    w[me].isAnswered = false;
    w[me].foundFence = 0;
    w[me].foundOp = 0;
    w[me].refusal = none;
    w[me].isLost = false
}

inline raiseEpoch(me) {
    w[me].epoch++;
#ifndef NO_RECONCILE
    w[me].needsReconcile = true
#endif
}

inline takeFound(me) {
    if
    :: w[me].foundFence != 0 ->
        assert(w[me].fence == 0);
        w[me].fence = w[me].foundFence;
        w[me].op = w[me].foundOp;
        w[me].phase = waiting
    :: else
    fi
}

/* The answer arrives. */
inline accept(me) {
    if
    :: w[me].call == reconcile ->
        /* An answer from before a lapse says nothing about the time after it. */
#ifndef NO_LAPSE_EPOCH
        w[me].needsReconcile = (w[me].callEpoch != w[me].epoch);
#else
        w[me].needsReconcile = false;
#endif
        if
        :: w[me].isLost -> forgetHeld(me)
        :: else
        fi
    :: w[me].call == claim
    :: else -> forgetHeld(me)                        /* done, already or stale: all the same to the worker */
    fi;
    takeFound(me);
    if
    :: w[me].refusal == absent -> w[me].believes = false
    :: w[me].refusal == lapsed -> raiseEpoch(me)
    :: else
    fi;
    forgetCall(me)
}

/* A request without an answer may have got lost, or Redis executes it some time. */
inline leaveRequest(me) {
    if
    :: true
    :: w[me].call != none && !w[me].isAnswered && lateCall == none ->
        lateCall = w[me].call;
        lateWorker = me;
        lateEpoch = w[me].callEpoch;
        if
        :: lateCall != claim && lateCall != reconcile ->
            lateFence = w[me].fence;
            lateOp = w[me].op
        :: else
        fi
    fi
}

/* No answer came: the request was lost, or its answer, or Redis executes it later. */
inline giveUp(me) {
    lost--;
    leaveRequest(me);
    if
    :: w[me].call == claim || w[me].call == finishAndClaim -> raiseEpoch(me)
    :: else
    fi;
    if
    :: w[me].call != claim && w[me].call != reconcile ->
#ifdef NO_OUTBOX
        forgetHeld(me)
#else
        w[me].isRepeat = true
#endif
    :: else
    fi;
    forgetCall(me)
}

#define HASH_SIZE(me) ((inflight[me].fence[0] != 0) + (inflight[me].fence[1] != 0))
#define ORDERED(me) ((inflight[me].fence[0] == w[me].fence && (inflight[me].order[0] || inflight[me].isBelow[0])) \
    || (inflight[me].fence[1] == w[me].fence && (inflight[me].order[1] || inflight[me].isBelow[1])))
/* What a heartbeat would change; others are left out, so that every run of the model ends. */
#define LEASE_NEWS(me) (lease[me] != valid || !w[me].believes || isGap)
#define COUNT_NEWS(me) (w[me].call == none && !w[me].needsReconcile && HASH_SIZE(me) != (w[me].fence != 0))
#define CANCEL_NEWS(me) (w[me].fence != 0 && w[me].phase != over && !w[me].isCancelled && ORDERED(me))

inline send(me, what) {
    w[me].call = what;
    w[me].callEpoch = w[me].epoch
}

inline beat(me) {
#ifndef NO_RECONCILE
    if
    :: COUNT_NEWS(me) -> w[me].needsReconcile = true
    :: else
    fi;
    if
    :: !w[me].believes -> raiseEpoch(me)
    :: else
    fi;
#endif
    if
    :: CANCEL_NEWS(me) -> w[me].isCancelled = true
    :: else
    fi;
#ifndef NO_FLOOR
    isFloor = isFloor || isGap;
#endif
    isGap = false;
    lease[me] = valid;
    w[me].believes = true;
    if
    :: epochOf[me] < w[me].epoch -> epochOf[me] = w[me].epoch
    :: else
    fi
}

inline start(me) {
    /* Nothing starts that is somebody else's or has ended, and nothing twice under one fence. */
    d_step {
        assert(w[me].fence == inflight[me].fence[0] || w[me].fence == inflight[me].fence[1]);
        j = (w[me].fence == inflight[me].fence[1]);
        assert(!inflight[me].isStarted[j]);
        inflight[me].isStarted[j] = true;
        w[me].phase = running
    }
}

inline endBody(me, how) {
    w[me].phase = over;
    w[me].outcome = how
}

#ifdef NO_SELF_FENCE
#define MAY_START(me) (true)
#else
#ifdef NO_HOLD
#define MAY_START(me) (w[me].believes)
#else
#define MAY_START(me) (w[me].believes && !w[me].needsReconcile)
#endif
#endif
#define MAY_CALL(me) (w[me].isAlive && w[me].call == none && w[me].believes)

proctype WorkerProcess(byte me) {
end:
    do
    /* The heartbeat, on a thread of its own. */
#ifdef NO_RECONCILE
    :: atomic { w[me].isAlive && !w[me].isMute && !isOut && (LEASE_NEWS(me) || CANCEL_NEWS(me)) -> beat(me) }
#else
    :: atomic { w[me].isAlive && !w[me].isMute && !isOut && (LEASE_NEWS(me) || COUNT_NEWS(me) || CANCEL_NEWS(me)) -> beat(me) }
#endif
    /* Bodies. */
    :: atomic { w[me].isAlive && w[me].phase == waiting && !w[me].isCancelled && MAY_START(me) -> start(me) }
    :: atomic { w[me].isAlive && w[me].phase == waiting && w[me].isCancelled -> endBody(me, cancelIt) }
    :: atomic { w[me].isAlive && w[me].phase == running -> endBody(me, finish) }
    :: atomic { w[me].isAlive && w[me].phase == running && !w[me].isCancelled -> endBody(me, fail) }
    :: atomic { w[me].isAlive && w[me].phase == running && w[me].isCancelled -> endBody(me, cancelIt) }
    :: atomic {
        w[me].isAlive && (w[me].phase == running || w[me].phase == waiting) && returns > 0 ->
            returns--;
            endBody(me, giveBack)
        }
    /* The exchange, one call at a time. */
    :: atomic { MAY_CALL(me) && w[me].needsReconcile -> send(me, reconcile) }
    :: atomic { MAY_CALL(me) && !w[me].needsReconcile && w[me].phase == over -> send(me, w[me].outcome) }
    :: atomic {
        MAY_CALL(me) && !w[me].needsReconcile && w[me].phase == over && w[me].outcome == finish && !w[me].isRepeat ->
            send(me, finishAndClaim)
        }
    :: atomic {
        MAY_CALL(me) && !w[me].needsReconcile && w[me].phase == nothing && SOMETHING_READY -> send(me, claim)
        }
    :: atomic { w[me].call != none && !w[me].isAnswered && !isOut -> execute(me); check() }
    :: atomic { w[me].isAlive && w[me].isAnswered -> accept(me) }
    :: atomic { w[me].isAlive && w[me].call != none && lost > 0 -> giveUp(me) }
    od
}

/* ---- What else happens ---- */

#define MAY_SWEEP (!isFloor && !isGap && !isOut)

proctype Server() {
end:
    do
    :: atomic { lateCall != none && !isOut -> executeLate(); check() }
    :: atomic { lateCall != none -> forgetLate() }
    :: atomic { isDelayed[0] -> isDelayed[0] = false; lane[0]++; state[0] = ready; check() }
#if OPS > 1
    :: atomic { isDelayed[1] -> isDelayed[1] = false; lane[1]++; state[1] = ready; check() }
#endif
#ifndef NO_SWEEPER
    /* Asked for by a worker that has just beaten. */
    :: atomic { lease[0] == lapsed && MAY_SWEEP -> doSweep(0); check() }
    :: atomic { lease[1] == lapsed && MAY_SWEEP -> doSweep(1); check() }
#endif
#if RECOVERIES > 0
#ifdef RECOVER_ALIVE
    :: atomic { recoveries > 0 && !isOut -> recoveries--; doRecover(0); check() }
#else
    :: atomic { recoveries > 0 && !isOut && !w[0].isAlive -> recoveries--; doRecover(0); check() }
#endif
#endif
#if WIPES > 0
    :: atomic { wipes > 0 -> wipes--; doWipe(); check() }
    :: atomic { batch[0] > 0 -> doBury(0); check() }
#if OPS > 1
    :: atomic { batch[1] > 0 -> doBury(1); check() }
#endif
#endif
    :: atomic { cancels > 0 -> cancels--; doCancel(0); check() }
#if OPS > 1
    :: atomic { cancels > 0 -> cancels--; doCancel(1); check() }
#endif
    :: atomic {
        retries > 0 && (state[0] == cancelled || state[0] == dead || (state[0] != untracked && IN_BATCH(0))) ->
            retries--; doRetry(0); check()
        }
    od
}

inline kill(me) {
    deaths--;
    w[me].isAlive = false;
    w[me].isMute = false;
    w[me].believes = false;
    w[me].needsReconcile = false;
    leaveRequest(me);
    forgetCall(me);
    forgetHeld(me)
}

#define HAS_BEATEN(me) (!w[me].isAlive || w[me].isMute || lease[me] == valid)

/* By its own clock a worker stops believing before Redis' clock lets the lease lapse. */
proctype Misfortune() {
end:
    do
#if MUTES > 1 || DEATHS > 0
    :: atomic { w[0].isAlive && mutes > 0 && !w[0].isMute -> mutes--; w[0].isMute = true }
#endif
    :: atomic { w[1].isAlive && mutes > 0 && !w[1].isMute -> mutes--; w[1].isMute = true }
    :: atomic { w[0].isMute -> w[0].isMute = false }
    :: atomic { w[1].isMute -> w[1].isMute = false }
    :: atomic { w[0].isMute && w[0].believes -> w[0].believes = false }
    :: atomic { w[1].isMute && w[1].believes -> w[1].believes = false }
    :: atomic { (w[0].isMute || !w[0].isAlive) && !w[0].believes && lease[0] == valid -> lease[0] = lapsed }
    :: atomic { (w[1].isMute || !w[1].isAlive) && !w[1].believes && lease[1] == valid -> lease[1] = lapsed }
#if OUTAGES > 0
    :: atomic { outages > 0 && !isOut -> outages--; isOut = true }
    :: atomic { isOut -> isOut = false }
    :: atomic { isOut && w[0].believes -> w[0].believes = false }
    :: atomic { isOut && w[1].believes -> w[1].believes = false }
    :: atomic { isOut && !w[0].believes && lease[0] == valid -> lease[0] = lapsed; isGap = true }
    :: atomic { isOut && !w[1].believes && lease[1] == valid -> lease[1] = lapsed; isGap = true }
    /* One lease has passed: whoever could beat has beaten. */
    :: atomic { isFloor && !isOut && HAS_BEATEN(0) && HAS_BEATEN(1) -> isFloor = false }
#endif
    :: atomic { deaths > 0 -> kill(0) }              /* the workers are alike, so it may always be this one */
    :: atomic {
        lost + mutes + deaths + returns + cancels + retries + outages + wipes > 0 ->
            lost = 0; mutes = 0; deaths = 0; returns = 0; cancels = 0; retries = 0; outages = 0; wipes = 0
        }
    od
}

/* When nothing can happen any more, everything has ended. */
proctype Judge() {
    timeout ->
        assert(endings[0] == 1);
#if OPS > 1
        assert(endings[1] == 1);
        assert(batch[1] == 0);
#endif
        assert(batch[0] == 0);
        assert(HASH_SIZE(0) + HASH_SIZE(1) == 0)
}

init {
    atomic {
        for (i : 0 .. OPS - 1) {
            lane[i] = 1;
            delivery[i] = 1;
            state[i] = (i == UNTRACKED -> untracked : ready)
        }
        for (i : 0 .. WORKERS - 1) {
            lease[i] = valid;
            epochOf[i] = 1;
            w[i].isAlive = true;
            w[i].believes = true;
            w[i].epoch = 1;
            w[i].phase = nothing;
            w[i].outcome = none;
            w[i].call = none;
            w[i].refusal = none
        }
        run WorkerProcess(0);
        run WorkerProcess(1);
        run Server();
        run Misfortune();
        run Judge()
    }
}
