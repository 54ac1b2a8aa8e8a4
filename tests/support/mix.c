#include "mix.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 6, MOST = 30000 };

/* One turn's memory. */
typedef struct turn {
    anymax_stream *stream;
    uint32_t number, random;
    int64_t rows, n;
    float *in, *up, *out, *more; /* rows x n each */
    int32_t target[ROWS];
    anymax_status status;
    uint64_t hash;
} turn;

static float next(turn *t) {
    t->random = t->random * 1664525u + 1013904223u;
    return (float)(t->random >> 20) / 512 - 4;
}

static void note(turn *t, const void *data, size_t size) {
    const unsigned char *b = data;
    for (size_t i = 0; i < size; i++) t->hash = (t->hash ^ b[i]) * 0x100000001b3u;
}

static void check(turn *t, anymax_status status) {
    if (t->status == ANYMAX_OK) t->status = status;
}

static size_t bytes(const turn *t) {
    return (size_t)(t->rows * t->n) * sizeof(float);
}

static anymax_tensor matrix(const turn *t, float *data) {
    return anymax_host_tensor(data, ANYMAX_F32, 2, (int64_t[]){t->rows, t->n});
}

static anymax_tensor vector(const turn *t, float *data) {
    return anymax_host_tensor(data, ANYMAX_F32, 1, (int64_t[]){t->rows});
}

/* ---------------------------------------------------------------- kinds of turns */

static void map_forward(turn *t, anymax_stream *stream, anymax_map_kind kind) {
    anymax_map map = {.kind = kind, .scale = anymax_some(1.25f)};
    anymax_tensor x = matrix(t, t->in), y = matrix(t, t->out);
    check(t, anymax_map_forward(stream, &map, &x, &y));
    check(t, anymax_stream_sync(stream));
    note(t, t->out, bytes(t));
}

/* Forward and backward in buffers that live for the turn, the backward's result added twice. */
static void map_in_buffers(turn *t) {
    anymax_device *device = anymax_stream_device(t->stream);
    anymax_buffer *buffer[3] = {NULL, NULL, NULL};
    anymax_map map = {.kind = ANYMAX_ENTMAX, .alpha = anymax_some(1.3f)};
    anymax_tensor x, y, grad;
    anymax_map_grads grads = {.x = &grad, .accumulate = true};
    for (int i = 0; i < 3; i++) check(t, anymax_buffer_create(device, bytes(t), &buffer[i]));
    if (t->status == ANYMAX_OK) {
        x = y = grad = matrix(t, NULL);
        x.buffer = buffer[0];
        y.buffer = buffer[1];
        grad.buffer = buffer[2];
        check(t, anymax_buffer_write(t->stream, buffer[0], 0, t->in, bytes(t)));
        check(t, anymax_buffer_write(t->stream, buffer[2], 0, t->up, bytes(t)));
        check(t, anymax_map_forward(t->stream, &map, &x, &y));
        for (int i = 0; i < 2; i++)
            check(t, anymax_map_backward(t->stream, &map, &x, &y, &y, &grads));
        check(t, anymax_buffer_read(t->stream, buffer[1], 0, t->out, bytes(t)));
        check(t, anymax_buffer_read(t->stream, buffer[2], 0, t->more, bytes(t)));
    }
    /* The stream keeps what its work still needs. */
    for (int i = 0; i < 3; i++) anymax_buffer_release(buffer[i]);
    check(t, anymax_stream_sync(t->stream));
    note(t, t->out, bytes(t));
    note(t, t->more, bytes(t));
}

static void cross_entropy(turn *t) {
    anymax_cross_entropy ce = {.label_smoothing = 0.1f, .z_loss = 1e-3f};
    float loss[ROWS], lse[ROWS], up[ROWS];
    anymax_tensor x = matrix(t, t->in), grad = matrix(t, t->out);
    anymax_tensor losses = vector(t, loss), lses = vector(t, lse), ups = vector(t, up);
    anymax_tensor target = vector(t, NULL);
    target.data = t->target;
    target.dtype = ANYMAX_I32;
    for (int i = 0; i < ROWS; i++) up[i] = next(t), t->target[i] = (int32_t)(i * 5 % t->n);
    check(t, anymax_cross_entropy_forward(t->stream, &ce, &x, &target, NULL, &losses, &lses));
    check(t, anymax_cross_entropy_backward(t->stream, &ce, &x, &target, NULL, &ups, NULL, &grad,
                                           false));
    check(t, anymax_stream_sync(t->stream));
    note(t, loss, (size_t)t->rows * sizeof *loss);
    note(t, lse, (size_t)t->rows * sizeof *lse);
    note(t, t->out, bytes(t));
}

static void infonce(turn *t) {
    anymax_infonce desc = {.symmetric = t->number % 2 == 0};
    float loss[ROWS], up[ROWS];
    anymax_tensor query = matrix(t, t->in), key = matrix(t, t->up);
    anymax_tensor grad_query = matrix(t, t->out), grad_key = matrix(t, t->more);
    anymax_tensor losses = vector(t, loss), ups = vector(t, up);
    anymax_infonce_grads grads = {.query = &grad_query, .key = &grad_key};
    for (int i = 0; i < ROWS; i++) up[i] = next(t);
    check(t, anymax_infonce_forward(t->stream, &desc, &query, &key, NULL, &losses, NULL));
    check(t, anymax_infonce_backward(t->stream, &desc, &query, &key, NULL, &ups, NULL, &grads));
    check(t, anymax_stream_sync(t->stream));
    note(t, loss, (size_t)t->rows * sizeof *loss);
    note(t, t->out, bytes(t));
    note(t, t->more, bytes(t));
}

static void by_name(turn *t) {
    anymax_tensor x = matrix(t, t->in), y = matrix(t, t->out);
    anymax_named_tensor tensors[] = {{"x", &x}, {"y", &y}};
    anymax_named_value scale = {"scale", {.type = ANYMAX_VALUE_FLOAT, .f = 0.5}};
    y.dtype = ANYMAX_F16;
    check(t, anymax_call(t->stream, "log_softmax", tensors, 2, &scale, 1));
    check(t, anymax_stream_sync(t->stream));
    note(t, t->out, bytes(t) / 2);
}

static void copies(turn *t) {
    anymax_device *device = anymax_stream_device(t->stream);
    anymax_buffer *a = NULL, *b = NULL;
    check(t, anymax_buffer_create(device, bytes(t), &a));
    check(t, anymax_buffer_create(device, bytes(t), &b));
    if (t->status == ANYMAX_OK) {
        check(t, anymax_buffer_write(t->stream, a, 0, t->in, bytes(t)));
        check(t, anymax_buffer_write(t->stream, b, 0, t->up, bytes(t)));
        check(t, anymax_buffer_copy(t->stream, b, 1, a, 4, bytes(t) - 5));
        check(t, anymax_buffer_read(t->stream, b, 0, t->out, bytes(t)));
        check(t, anymax_stream_sync(t->stream));
    }
    anymax_buffer_release(a);
    anymax_buffer_release(b);
    note(t, t->out, bytes(t));
}

/* On a stream that lives for the turn. */
static void another_stream(turn *t) {
    anymax_stream *stream = NULL;
    check(t, anymax_stream_create(anymax_stream_device(t->stream), NULL, &stream));
    if (t->status == ANYMAX_OK) map_forward(t, stream, ANYMAX_ENTMAX15);
    anymax_stream_release(stream);
}

uint64_t mix_turn(anymax_stream *stream, uint32_t number) {
    static const int64_t lengths[] = {33, 300, 7, 1000, 64};
    turn t = {.stream = stream, .number = number, .random = number * 77 + 1, .rows = ROWS};
    const uint32_t kind = number % MIX_KINDS;
    t.n = lengths[number / MIX_KINDS % 5];
    if (kind == 7) { /* a row that is split, where there are threads or groups for it */
        t.rows = 1;
        t.n = MOST;
    }
    t.in = calloc(4, bytes(&t));
    if (t.in == NULL) return 0;
    t.up = t.in + t.rows * t.n;
    t.out = t.up + t.rows * t.n;
    t.more = t.out + t.rows * t.n;
    for (int64_t i = 0; i < 2 * t.rows * t.n; i++) t.in[i] = next(&t);
    if (kind == 0 || kind == 7) map_forward(&t, stream, ANYMAX_SOFTMAX);
    if (kind == 1) map_in_buffers(&t);
    if (kind == 2) cross_entropy(&t);
    if (kind == 3) infonce(&t);
    if (kind == 4) by_name(&t);
    if (kind == 5) copies(&t);
    if (kind == 6) another_stream(&t);
    free(t.in);
    return t.status == ANYMAX_OK ? t.hash | 1 : 0;
}
