/* What a driver may do to its host when it is only asked what there is. */
#ifndef MISBEHAVE_H
#define MISBEHAVE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

enum behaviour {
    NOTHING,
    FAIL,
    GARBAGE,
    EMPTY,
    OLD,
    MANY,
    SOUND,
    CRASH,
    LATE_CRASH,
    ABORT,
    LEAVE,
    HANG,
    TWIN,      /* aborts where another one has been before */
    MEETS_TWIN /* the same, but leaves no trace */
};

/* A descriptor that a process inherits from nobody. */
#define TRACE 700

static inline void misbehave(enum behaviour what) {
    static int *volatile nowhere;
    static int been_here;
    switch (what) {
    case CRASH:
        *nowhere = 1;
        break;
    case TWIN:
    case MEETS_TWIN:
        if (been_here || fcntl(TRACE, F_GETFD) < 0) {
            if (what == TWIN && !been_here) been_here = fcntl(0, F_DUPFD_CLOEXEC, TRACE) == TRACE;
            break;
        } /* fall through */
    case ABORT:
        fputs("fake driver: two of me\n", stderr);
        abort();
    case LEAVE:
        _exit(0); /* a status that says nothing */
    case HANG:
        for (;;) pause();
    default:
        break;
    }
}

#endif
