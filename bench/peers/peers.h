/* peers.h: the same rows through this library and through others. */
#ifndef ANYMAX_BENCH_PEERS_H
#define ANYMAX_BENCH_PEERS_H

#include "contest.h"

typedef struct peer_job {
    contest_rows rows;
    bool log_softmax;
    uint32_t threads;
} peer_job;

/* Softmax of a job by one library, made once and run many times. */
typedef struct peer_call {
    void *state; /* NULL: this library cannot do the job */
    bool (*run)(void *state);
    void (*free)(void *state);
    double error; /* largest relative one, against double */
} peer_call;

typedef struct peer {
    const char *name;
    bool (*make)(const peer_job *job, peer_call *call);
} peer;

/* Each in a file of its own; false after a message when the library fails, true without a state
 * when it has no such operation. */
bool peer_anymax(const peer_job *job, peer_call *call);
bool peer_onednn(const peer_job *job, peer_call *call);
bool peer_xnnpack(const peer_job *job, peer_call *call);

#endif
