/* The same work again and again has the same bits each time, however often it waits in between. */
#include "support/device.h"

#include <string.h>

enum { ROWS = 40, N = 777, LONG = 300000, REPLAYS = 200 };

typedef struct replay {
    anymax_buffer *x, *y, *grad, *loss, *target, *row;
    anymax_tensor tx, ty, tgrad, tloss, ttarget, trow;
} replay;

static anymax_tensor make(anymax_buffer **buffer, anymax_dtype dtype, uint32_t rank, int64_t rows,
                          int64_t n) {
    const int64_t shape[2] = {rows, n};
    const size_t size = (size_t)(rows * (rank == 2 ? n : 1)) * 4;
    ck_assert_int_eq(anymax_buffer_create(test_main_device.device, size, buffer), ANYMAX_OK);
    return anymax_buffer_tensor(*buffer, 0, dtype, rank, shape);
}

/* Softmax, its gradient, cross entropy and its gradient, InfoNCE's, and a row that is split:
 * everything in one recording, or with a wait after each call. */
static void play(const replay *r, bool wait) {
    anymax_stream *s = test_main_device.stream;
    anymax_map soft = {.kind = ANYMAX_SOFTMAX}, sparse = {.kind = ANYMAX_ENTMAX15};
    anymax_cross_entropy ce = {.label_smoothing = 0.1f};
    anymax_infonce nce = {.symmetric = true};
    anymax_map_grads grads = {.x = &r->tgrad};
    anymax_infonce_grads more = {.query = &r->tgrad, .accumulate = true};
    anymax_status status[7];
#define STEP(i, call)   \
    status[i] = (call); \
    if (wait && status[i] == ANYMAX_OK) status[i] = anymax_stream_sync(s)
    STEP(0, anymax_map_forward(s, &sparse, &r->tx, &r->ty));
    STEP(1, anymax_map_backward(s, &soft, &r->tx, NULL, &r->ty, &grads));
    STEP(2, anymax_cross_entropy_forward(s, &ce, &r->ty, &r->ttarget, NULL, &r->tloss, NULL));
    STEP(3, anymax_cross_entropy_backward(s, &ce, &r->ty, &r->ttarget, NULL, &r->tloss, NULL,
                                          &r->tgrad, true));
    STEP(4, anymax_infonce_backward(s, &nce, &r->tx, &r->ty, NULL, &r->tloss, NULL, &more));
    STEP(5, anymax_map_forward(s, &soft, &r->tgrad, &r->ty));
    STEP(6, anymax_map_forward(s, &soft, &r->trow, &r->trow));
    for (int i = 0; i < COUNT(status); i++)
        ck_assert_msg(status[i] == ANYMAX_OK, "step %d: %s", i, anymax_error_message());
}

START_TEST(replays) {
    anymax_stream *s = test_main_device.stream;
    static float x[ROWS * N], row[LONG], got[2][2 * ROWS * N + ROWS + LONG];
    static int32_t target[ROWS];
    replay r;
    r.tx = make(&r.x, ANYMAX_F32, 2, ROWS, N);
    r.ty = make(&r.y, ANYMAX_F32, 2, ROWS, N);
    r.tgrad = make(&r.grad, ANYMAX_F32, 2, ROWS, N);
    r.tloss = make(&r.loss, ANYMAX_F32, 1, ROWS, 0);
    r.ttarget = make(&r.target, ANYMAX_I32, 1, ROWS, 0);
    r.trow = make(&r.row, ANYMAX_F32, 2, 1, LONG);
    for (int i = 0; i < ROWS * N; i++) x[i] = (float)(i * 7919 % 1009) / 256;
    for (int i = 0; i < LONG; i++) row[i] = (float)(i * 7919ll % 100003) / 8192;
    for (int i = 0; i < ROWS; i++) target[i] = i * 13 % N;
    ck_assert_int_eq(anymax_buffer_write(s, r.x, 0, x, sizeof x), ANYMAX_OK);
    ck_assert_int_eq(anymax_buffer_write(s, r.target, 0, target, sizeof target), ANYMAX_OK);
    for (int i = 0; i < REPLAYS; i++) {
        float *to = got[i > 0];
        memset(to, 0xff, sizeof got[0]);
        ck_assert_int_eq(anymax_buffer_write(s, r.row, 0, row, sizeof row), ANYMAX_OK);
        play(&r, i % 10 == 9);
        ck_assert_int_eq(anymax_buffer_read(s, r.y, 0, to, sizeof x), ANYMAX_OK);
        ck_assert_int_eq(anymax_buffer_read(s, r.grad, 0, to + ROWS * N, sizeof x), ANYMAX_OK);
        ck_assert_int_eq(anymax_buffer_read(s, r.loss, 0, to + 2 * ROWS * N, ROWS * 4), ANYMAX_OK);
        ck_assert_int_eq(anymax_buffer_read(s, r.row, 0, to + 2 * ROWS * N + ROWS, sizeof row),
                         ANYMAX_OK);
        ck_assert_int_eq(anymax_stream_sync(s), ANYMAX_OK);
        ck_assert_msg(memcmp(got[0], to, sizeof got[0]) == 0, "replay %d of %d has other bits", i,
                      REPLAYS);
    }
    ck_assert(got[0][0] > 0 && got[0][0] < 1);
    anymax_buffer_release(r.x);
    anymax_buffer_release(r.y);
    anymax_buffer_release(r.grad);
    anymax_buffer_release(r.loss);
    anymax_buffer_release(r.target);
    anymax_buffer_release(r.row);
}
END_TEST

static void add(Suite *suite) {
    TCase *all = tcase_create("replay");
    tcase_add_test(all, replays);
    suite_add_tcase(suite, all);
}

int main(int argc, char **argv) {
    return test_main(argc, argv, "replay", add);
}
