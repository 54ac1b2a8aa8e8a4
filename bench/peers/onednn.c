/* onednn.c: oneDNN, version 2, on its own OpenMP threads. */
#include "command.h"
#include "peers.h"

#include <dnnl.h>
#include <omp.h>
#include <stdlib.h>

typedef struct state {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive;
    dnnl_memory_t x, y;
    int threads;
} state;

static bool run(void *user) {
    state *s = user;
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, s->x}, {DNNL_ARG_DST, s->y}};
    omp_set_num_threads(s->threads);
    return dnnl_primitive_execute(s->primitive, s->stream, 2, args) == dnnl_success &&
           dnnl_stream_wait(s->stream) == dnnl_success;
}

static void release(void *user) {
    state *s = user;
    if (!s) return;
    if (s->y) dnnl_memory_destroy(s->y);
    if (s->x) dnnl_memory_destroy(s->x);
    if (s->primitive) dnnl_primitive_destroy(s->primitive);
    if (s->desc) dnnl_primitive_desc_destroy(s->desc);
    if (s->stream) dnnl_stream_destroy(s->stream);
    if (s->engine) dnnl_engine_destroy(s->engine);
    free(s);
}

static dnnl_status_t describe(state *s, const dnnl_memory_desc_t *rows, bool log_softmax) {
    dnnl_softmax_desc_t desc;
    dnnl_status_t status =
        log_softmax ? dnnl_logsoftmax_forward_desc_init(&desc, dnnl_forward_inference, rows, 1)
                    : dnnl_softmax_forward_desc_init(&desc, dnnl_forward_inference, rows, 1);
    if (status != dnnl_success) return status;
    return dnnl_primitive_desc_create(&s->desc, &desc, NULL, s->engine, NULL);
}

static dnnl_status_t build(state *s, const peer_job *job) {
    const dnnl_dims_t dims = {job->rows.rows, job->rows.n};
    dnnl_memory_desc_t rows;
    dnnl_status_t status = dnnl_memory_desc_init_by_tag(&rows, 2, dims, dnnl_f32, dnnl_ab);
    if (status == dnnl_success) status = dnnl_engine_create(&s->engine, dnnl_cpu, 0);
    if (status == dnnl_success)
        status = dnnl_stream_create(&s->stream, s->engine, dnnl_stream_default_flags);
    if (status == dnnl_success) status = describe(s, &rows, job->log_softmax);
    if (status == dnnl_success) status = dnnl_primitive_create(&s->primitive, s->desc);
    if (status == dnnl_success) status = dnnl_memory_create(&s->x, &rows, s->engine, job->rows.x);
    if (status == dnnl_success) status = dnnl_memory_create(&s->y, &rows, s->engine, job->rows.y);
    return status;
}

bool peer_onednn(const peer_job *job, peer_call *call) {
    state *s;
    dnnl_status_t status;
    if (dnnl_version()->cpu_runtime != DNNL_RUNTIME_OMP) {
        cmd_error("this oneDNN has not been built for OpenMP, so its threads cannot be counted");
        return false;
    }
    s = calloc(1, sizeof *s);
    if (!s) return false;
    s->threads = (int)job->threads;
    omp_set_num_threads(s->threads); /* primitives are made for a number of threads */
    status = build(s, job);
    if (status != dnnl_success) {
        cmd_error("oneDNN: status %d", (int)status);
        release(s);
        return false;
    }
    call->state = s;
    call->run = run;
    call->free = release;
    return true;
}
