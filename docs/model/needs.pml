/*
 * A dependency between two queues on two servers: what each stores, the producer of the dependent, the relay, who asks again, and what may break.
 * The producer asks the queue of X first (link), and stores D with the answer. An end may come to the queue of D before D is there.
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
mtype = { none, blocked, ready, cancelled };     /* D; none = it is not stored. Also "no end": of X, as far as server B knows */

typedef ServerA {
    mtype x;
    byte sequence;        /* of X */
    bool isLinked;        /* dependentQueues of X has the queue of D */
    bool outbox;          /* X has ended, and the queue of D may not have heard */
    byte round;           /* for the properties: how often X has been tried */
}
typedef ServerB {
    mtype d;
    bool isMet;
    byte heard;           /* the sequence of the last end that D has heard of */
    byte heardRound;      /* for the properties */
    mtype end;            /* remote:X: the last end of X of which the queue has heard */
    byte last;            /* its sequence */
    byte lastRound;       /* for the properties */
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
byte step;                /* of the producer: 0 link, 1 create, 2 it has done it or died */
bool hasDied;             /* the producer has, before it has stored D */

/* ---- What only the properties look at ---- */
bool hasFinished;         /* X has, at some time */
bool wasCancelledIn[8];   /* D was, because of this round of X */

#define HAS_ENDED (a.x == finished || a.x == failed)

inline copyA(to, from) {
    to.x = from.x; to.sequence = from.sequence; to.isLinked = from.isLinked; to.outbox = from.outbox; to.round = from.round
}
inline copyB(to, from) {
    to.d = from.d; to.isMet = from.isMet; to.heard = from.heard; to.heardRound = from.heardRound;
    to.end = from.end; to.last = from.last; to.lastRound = from.lastRound
}
inline copyMessage(to, from) {
    to.isThere = from.isThere; to.how = from.how; to.sequence = from.sequence; to.round = from.round
}
inline forget(message) { message.isThere = false; message.how = absent; message.sequence = 0; message.round = 0 }

/* link on A: the queue of D hears of ends from now on; the answer is what X is. */
inline link(message) {
    a.isLinked = true;
    message.isThere = true; message.how = a.x; message.sequence = a.sequence; message.round = a.round
}

/* On B: what the queue knows of X. That X has finished is final; a failure counts only with a higher sequence than the last end. */
inline hear(message) {
    if
    :: b.end == finished || message.how == live || message.how == absent
    :: else ->
        if
        :: message.how == finished ->
            b.last = (message.sequence > b.last -> message.sequence : b.last + 1);
            b.end = finished; b.lastRound = message.round
#ifdef TRUST
        :: message.how == failed ->
            b.last = b.last + 1;
#else
        :: message.how == failed && message.sequence > b.last ->
            b.last = message.sequence;
#endif
            b.end = failed; b.lastRound = message.round
        :: else
        fi
    fi
}

/* D hears of the last end, if it has not. */
inline tell() {
    if
    :: b.d == none || b.isMet || b.end == none || b.heard >= b.last
    :: else ->
        b.heard = b.last;
        b.heardRound = b.lastRound;
        if
        :: b.end == finished ->
            b.isMet = true;
            if
            :: b.d == blocked -> b.d = ready; assert(hasFinished)
            :: else
            fi
        :: else ->
#ifndef HOLD
            if
            :: b.d == blocked ->
                /* A failure of one round cancels once: after a retry, D waits for the next one. */
                assert(!wasCancelledIn[b.lastRound] || failoversA < FAILOVERS_OF_A || failoversB < FAILOVERS_OF_B);
                wasCancelledIn[b.lastRound] = true;
                b.d = cancelled
            :: else
            fi
#else
            skip
#endif
        fi
    fi
}

inline resolve(message) { hear(message); tell() }

/* The producer stores D with what link has answered. If the end of that round came before, D hears of it at once. */
inline create(message) {
    hear(message);
    b.d = blocked; b.isMet = false;
    if
    :: b.end != none && (message.how != live || b.last >= message.sequence) -> b.heard = 0
    :: else -> b.heard = (message.sequence - 1 > b.last -> message.sequence - 1 : b.last)
    fi;
    tell()
}

/* X ends: one entry in the outbox, if the queue of D is to hear of it. */
inline endOfX(ending) {
    a.x = ending;
    a.outbox = a.isLinked
}

/* Whether asking would tell D something that it has not heard, or link it again. Other asks change nothing, and are left out. */
#define ASKS (b.d == blocked && !b.isMet && (!a.isLinked || a.x == finished || (a.x == failed && a.sequence > b.heard)))

#ifdef NO_ASK
#define IS_SATISFIED true
#else
#define IS_SATISFIED (ASKS == false)
#endif
#define IS_QUIET (HAS_ENDED && step == 2 && !sent.isThere && !late.isThere && !asked.isThere && !a.outbox && IS_SATISFIED)

active proctype everything() {
    d_step {
        a.x = live; a.sequence = 1; a.round = 1; b.d = none; b.end = none;
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
    :: d_step { step == 0 -> link(answer); step = 1 }
    :: d_step { step == 1 -> create(answer); forget(answer); step = 2 }
    :: d_step { step == 1 -> forget(answer); hasDied = true; step = 2 }

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
        :: a.outbox && a.sequence == sent.sequence -> a.outbox = false
        :: else
        fi;
        forget(sent)
       }
    :: d_step { sent.isThere -> forget(sent) }
    :: d_step { late.isThere -> resolve(late); forget(late) }

#ifndef NO_ASK
    /* Who waits asks again: the link is repeated, and its answer is applied some time later. */
    :: d_step { ASKS && !asked.isThere && step == 2 -> link(asked) }
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
           assert(b.d != none || hasDied || failoversB < FAILOVERS_OF_B) } -> break
    od
}
