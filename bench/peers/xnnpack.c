/* xnnpack.c: XNNPACK, as of 2022 (operators that are set up, not reshaped). */
#include "command.h"
#include "peers.h"

#include <stdlib.h>
#include <xnnpack.h>

typedef struct state {
    xnn_operator_t operator_;
    pthreadpool_t pool; /* NULL: the calling thread alone */
} state;

static bool run(void *user) {
    state *s = user;
    return xnn_run_operator(s->operator_, s->pool) == xnn_status_success;
}

static void release(void *user) {
    state *s = user;
    if (!s) return;
    if (s->operator_) xnn_delete_operator(s->operator_);
    if (s->pool) pthreadpool_destroy(s->pool);
    free(s);
}

bool peer_xnnpack(const peer_job *job, peer_call *call) {
    size_t n = (size_t)job->rows.n;
    enum xnn_status status;
    state *s;
    if (job->log_softmax) return true;
    s = calloc(1, sizeof *s);
    if (!s) return false;
    if (job->threads > 1) s->pool = pthreadpool_create(job->threads);
    status = xnn_initialize(NULL);
    if (status == xnn_status_success) status = xnn_create_softmax_nc_f32(n, n, n, 0, &s->operator_);
    if (status == xnn_status_success)
        status = xnn_setup_softmax_nc_f32(s->operator_, (size_t)job->rows.rows, job->rows.x,
                                          job->rows.y, s->pool);
    if (status != xnn_status_success) {
        cmd_error("XNNPACK: status %d", (int)status);
        release(s);
        return false;
    }
    call->state = s;
    call->run = run;
    call->free = release;
    return true;
}
