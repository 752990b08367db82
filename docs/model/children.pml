/*
 * What a body enqueues with the completion of its run, in a queue on another server: the parent and the groups of its runs on server A, the children
 * on server B. Each run has a group of its own, which ends with the run; its child needs the group. Every script is one atomic step on one server.
 * docs/model.md says what is modelled and what is not; scripts/model runs it.
 *
 * -D breaks one rule each, and must make the search find an error: ANY_END OTHER_RUN NO_FENCE NO_ASK.
 */

/* How often things may go wrong, each. */
#ifndef RUNS
#define RUNS 3            /* of the parent; all but the last may fail or be lost */
#endif
#ifndef LOST
#define LOST 1            /* messages of the relay that never arrive, although they count as delivered */
#endif
#ifndef LATE
#define LATE 1            /* messages of the relay that come a second time, at any time */
#endif

mtype = { none, open, finished, cancelled };      /* the group of a run */
mtype = { blocked, started, removed };            /* a child; none = it is not stored */

/* Server A. Runs are counted from 1; the fence of the parent is the number of its run. */
byte fence = 1;           /* of the run that the parent's worker holds; 0 = none holds it */
byte completed;           /* the run that has finished; 0 = none yet */
mtype group[RUNS + 1] = none;
bool outbox[RUNS + 1];    /* the group has ended, and server B may not have heard */

/* Server B. */
mtype child[RUNS + 1] = none;
mtype heard[RUNS + 1] = none;   /* the end of a group of which it has heard */

/* Bodies: where each is. 0 = it has not begun, 1 = its group is open, 2 = linked, 3 = it has done all, 4 = over */
byte place[RUNS + 1];
mtype answer[RUNS + 1] = none;  /* of link */
bool late[RUNS + 1];
byte losses = LOST, again = LATE;

#define HAS_ENDED(number) (group[number] == finished || group[number] == cancelled)

inline endGroup(number, how) {
    if
    :: group[number] == open -> group[number] = how; outbox[number] = true
    :: else
    fi
}

/* Any end of a run but its completion. */
inline endRun(number) {
#if defined(ANY_END)
    endGroup(number, finished)
#elif defined(OTHER_RUN)
    skip
#else
    endGroup(number, cancelled)
#endif
}

/* A child starts only if its run has finished. */
inline begin(number) { assert(completed == number); child[number] = started }

/* Server B hears of the end of a group. */
inline hear(number, how) {
    if
    :: how == finished || how == cancelled ->
        heard[number] = how;
        if
        :: child[number] == blocked && how == finished -> begin(number)
        :: child[number] == blocked && how == cancelled -> child[number] = removed
        :: else
        fi
    :: else
    fi
}

/* The body of a run. It may go on after its run was lost. */
proctype body(byte number) {
    do
    :: place[number] == 0 ->
        atomic {
#ifdef NO_FENCE
            group[number] = open; place[number] = 1
#else
            if
            :: fence == number -> group[number] = open; place[number] = 1
            :: else -> place[number] = 4   /* its worker does not hold it any more: it throws */
            fi
#endif
        }
    :: place[number] == 1 -> atomic { answer[number] = group[number]; place[number] = 2 }
    :: place[number] == 2 ->
        atomic {
            if
            :: answer[number] == finished || heard[number] == finished -> begin(number)
            :: answer[number] == cancelled || heard[number] == cancelled -> skip   /* refused */
            :: else -> child[number] = blocked
            fi;
            place[number] = 3
        }
    :: place[number] == 3 ->
        atomic {
            if
            :: fence == number ->   /* the completion under the fence */
                completed = number; fence = 0;
#ifdef OTHER_RUN
                byte other;
                for (other : 1 .. RUNS) { endGroup(other, finished) }
#else
                endGroup(number, finished)
#endif
            :: else              /* stale: refused */
            fi;
            place[number] = 4
        }
    :: place[number] == 4 -> break
    :: place[number] > 0 && place[number] < 4 && number < RUNS ->   /* it throws, or its process dies */
        atomic {
            if
            :: fence == number -> endRun(number); fence = number + 1; run body(number + 1)
            :: else
            fi;
            place[number] = 4
        }
    od
}

/* The lease of a run lapses, whether or not its body goes on. */
proctype sweeper() {
    do
    :: atomic { fence > 0 && fence < RUNS -> endRun(fence); fence = fence + 1; run body(fence) }
    :: completed > 0 -> break
    od
}

/* Carries ends to server B. Of two steps between the servers, one may be lost; and one may come again. */
proctype relay() {
    byte number;
    do
    :: atomic { outbox[1] -> number = 1 } carry: atomic {
            if
            :: losses > 0 -> losses--
            :: hear(number, group[number])
            fi;
            outbox[number] = false;
            if :: again > 0 -> again--; late[number] = true :: else fi
        }
    :: atomic { outbox[2] -> number = 2 } goto carry
    :: atomic { RUNS > 2 && outbox[RUNS] -> number = RUNS } goto carry
    :: atomic { late[1] -> late[1] = false; hear(1, group[1]) }
    :: atomic { late[2] -> late[2] = false; hear(2, group[2]) }
    :: timeout -> break
    od
}

/* Server B forgets an end of which nothing depends, and asks for the groups that its children need. */
proctype asker() {
    byte number;
    do
    :: atomic {
            select(number : 1 .. RUNS);
            if
            :: child[number] != blocked && heard[number] != none && place[number] < 3 -> heard[number] = none
#ifndef NO_ASK
            :: child[number] == blocked && HAS_ENDED(number) -> hear(number, group[number])
#endif
            :: else
            fi
        }
    :: completed > 0 -> break
    od;
    /* Once all is over, it asks as often as there is something to ask. */
#ifndef NO_ASK
    do
    :: atomic { child[1] == blocked && HAS_ENDED(1) -> hear(1, group[1]) }
    :: atomic { child[2] == blocked && HAS_ENDED(2) -> hear(2, group[2]) }
    :: atomic { child[RUNS] == blocked && HAS_ENDED(RUNS) -> hear(RUNS, group[RUNS]) }
    :: timeout -> break
    od
#endif
}

/* At the end, the child of the run that has finished has started, and no other is left. */
active proctype start() {
    byte number;
    atomic { run body(1); run sweeper(); run relay(); run asker() }
    timeout ->
    atomic {
        assert(completed > 0);
        for (number : 1 .. RUNS) {
            assert(child[number] != blocked);
            assert(number != completed || child[number] == started)
        }
    }
}
