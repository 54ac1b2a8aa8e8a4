/* What a driver may do to its host when it is only asked what there is. */
#ifndef MISBEHAVE_H
#define MISBEHAVE_H

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
    HANG
};

static inline void misbehave(enum behaviour what) {
    static int *volatile nowhere;
    switch (what) {
    case CRASH:
        *nowhere = 1;
        break;
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
