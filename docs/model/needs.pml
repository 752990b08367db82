/*
 * A dependency between two queues on two servers: what each stores, the producer of the dependent, the relay, who asks again, and what may break.
 * Every script is one atomic step on one server. docs/model.md says what is modelled and what is not; scripts/model runs it.
 *
 * X is the dependency, on server A; D waits for it, on server B. A retry of X gives it the next sequence.
 * -D HOLD: D is held if X fails; otherwise it is cancelled.
 * -D breaks one rule each, and must make the search find an error: NO_ASK NO_ROUNDS TRUST.
 */

/* How often things may go wrong, each. */
#ifndef FAILS
#define FAILS 2           /* of X */
#endif
#ifndef RETRIES
#define RETRIES 1         /* of X, by an operator */
#endif
#ifndef RETRIES_OF_D
#define RETRIES_OF_D 1
#endif
#ifndef LATE
#define LATE 1            /* messages of the relay that come a second time, at any time */
#endif
#ifndef FAILOVERS_OF_A
#define FAILOVERS_OF_A 0  /* to a replica that has not got the last writes */
#endif
#ifndef FAILOVERS_OF_B
#define FAILOVERS_OF_B 0
#endif

mtype = { absent, live, finished, failed };      /* X */
mtype = { none, blocked, ready, cancelled };     /* D; none = it is not stored */

typedef ServerA {
    mtype x;
    byte sequence;        /* of X */
    bool isLinked;        /* dependents:X has D */
    byte told;            /* the sequence of the last end that D is known to have heard of; 0 = none */
    bool outbox;          /* X has ended, and D may not have heard */
    byte round;           /* for the properties: how often X has been tried */
}
typedef ServerB {
    mtype d;
    bool isMet;
    byte heard;           /* the sequence of the last failure that D has heard of */
    byte heardRound;      /* for the properties */
}
typedef Message {
    bool isThere;
    mtype how;            /* live = nothing to say but that X is not forgotten */
    byte sequence, round;
}
ServerA a, copyOfA;
ServerB b, copyOfB;
Message sent, late, answer, asked;

byte fails = FAILS, retries = RETRIES, retriesOfD = RETRIES_OF_D, again = LATE;
byte failoversA = FAILOVERS_OF_A, failoversB = FAILOVERS_OF_B;
byte step;                /* of the producer: 0 create, 1 link, 2 confirm, 3 it has done it or died */

/* ---- What only the properties look at ---- */
bool hasFinished;         /* X has, at some time */
bool wasCancelledIn[8];   /* D was, because of this round of X */

#define HAS_ENDED (a.x == finished || a.x == failed)

inline copyA(to, from) {
    to.x = from.x; to.sequence = from.sequence; to.isLinked = from.isLinked; to.told = from.told; to.outbox = from.outbox; to.round = from.round
}
inline copyB(to, from) {
    to.d = from.d; to.isMet = from.isMet; to.heard = from.heard; to.heardRound = from.heardRound
}
inline copyMessage(to, from) {
    to.isThere = from.isThere; to.how = from.how; to.sequence = from.sequence; to.round = from.round
}
inline forget(message) { message.isThere = false; message.how = absent; message.sequence = 0; message.round = 0 }

/* link on A: D is among the dependents from now on; the answer is what X is. */
inline link(message) {
    if
    :: !a.isLinked -> a.isLinked = true; a.told = 0
    :: else
    fi;
    message.isThere = true; message.how = a.x; message.sequence = a.sequence; message.round = a.round
}

/* resolve on B. That X has finished is final; a failure counts only if it is a later one than the last that D has heard of. */
inline resolve(message) {
    if
    :: b.d == none || b.isMet || message.how == live || message.how == absent
    :: else ->
        if
        :: message.how == finished ->
            b.isMet = true;
            b.heardRound = message.round;
            if
            :: b.d == blocked -> b.d = ready; assert(hasFinished)
            :: else
            fi
#ifdef TRUST
        :: message.how == failed ->
#else
        :: message.how == failed && message.sequence > b.heard ->
#endif
            b.heard = message.sequence;
            b.heardRound = message.round;
#ifndef HOLD
            if
            :: b.d == blocked ->
                /* A failure of one round cancels once: after a retry, D waits for the next one. */
                assert(!wasCancelledIn[message.round] || failoversA < FAILOVERS_OF_A || failoversB < FAILOVERS_OF_B);
                wasCancelledIn[message.round] = true;
                b.d = cancelled
            :: else
            fi
#endif
        :: else
        fi
    fi
}

/* X ends: one entry in the outbox, if D is linked and has not heard of this round. */
inline endOfX(ending) {
    a.x = ending;
#ifdef NO_ROUNDS
    a.outbox = a.isLinked && a.told == 0
#else
    a.outbox = a.isLinked && a.told < a.sequence
#endif
}

/* Whether asking would tell D something that it has not heard, or link it again. Other asks change nothing, and are left out. */
#define ASKS (b.d == blocked && !b.isMet && (!a.isLinked || a.x == finished || (a.x == failed && a.sequence > b.heard)))

#ifdef NO_ASK
#define IS_SATISFIED true
#else
#define IS_SATISFIED (ASKS == false)
#endif
#define IS_QUIET (HAS_ENDED && step == 3 && !sent.isThere && !late.isThere && !asked.isThere && !a.outbox && IS_SATISFIED)

active proctype everything() {
    d_step {
        a.x = live; a.sequence = 1; a.round = 1; b.d = none;
        copyA(copyOfA, a); copyB(copyOfB, b)
    };
    do
    /* The worker of X. */
    :: d_step { a.x == live -> endOfX(finished); hasFinished = true }
    :: d_step { a.x == live && fails > 0 -> fails--; endOfX(failed) }
    /* An operator. What D has not heard of the end is void. */
    :: d_step { a.x == failed && retries > 0 ->
        retries--;
        a.x = live; a.outbox = false; a.round = a.round + 1;
#ifndef NO_ROUNDS
        a.sequence = a.sequence + 1
#endif
       }
    :: d_step { b.d == cancelled && retriesOfD > 0 -> retriesOfD--; if :: b.isMet -> b.d = ready :: else -> b.d = blocked fi }

    /* The producer, which may die between its calls. */
    :: d_step { step == 0 -> b.d = blocked; step = 1 }
    :: d_step { step == 1 -> link(answer); step = 2 }
    :: d_step { step == 2 -> resolve(answer); forget(answer); step = 3 }
    :: d_step { (step == 1 || step == 2) -> forget(answer); step = 3 }

    /* The relay: read, deliver, mark. It may die anywhere: another one begins again. */
    :: d_step { a.outbox && !sent.isThere -> sent.isThere = true; sent.how = a.x; sent.sequence = a.sequence; sent.round = a.round }
    :: d_step { sent.isThere ->
        resolve(sent);
        if
        :: again > 0 && !late.isThere -> again--; copyMessage(late, sent)
        :: true
        fi;
        /* Only if the entry is still the one that was delivered. */
        if
        :: a.outbox && a.sequence == sent.sequence -> a.outbox = false; a.told = sent.sequence
        :: else
        fi;
        forget(sent)
       }
    :: d_step { sent.isThere -> forget(sent) }
    :: d_step { late.isThere -> resolve(late); forget(late) }

#ifndef NO_ASK
    /* Who waits asks again: the link is repeated, and its answer is applied some time later. */
    :: d_step { ASKS && !asked.isThere && step == 3 -> link(asked) }
    :: d_step { asked.isThere -> resolve(asked); forget(asked) }
#endif

    /* Replicas get the writes some time later, and may take over. */
    :: d_step { failoversA > 0 -> copyA(copyOfA, a) }
    :: d_step { failoversA > 0 -> failoversA--; copyA(a, copyOfA) }
    :: d_step { failoversB > 0 -> copyB(copyOfB, b) }
    :: d_step { failoversB > 0 -> failoversB--; copyB(b, copyOfB) }

    /* Nothing can happen any more. */
    :: d_step { IS_QUIET ->
        assert(b.d != blocked || (a.x == failed && (b.heardRound == a.round || failoversA < FAILOVERS_OF_A)));
           assert(b.d != none || failoversB < FAILOVERS_OF_B) } -> break
    od
}
