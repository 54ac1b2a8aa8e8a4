/* Tensors in host memory: gaps, halves of one matrix, where they begin, outputs over inputs, and
 * what is left alone. */
#include "support/cases.h"
#include "support/numbers.h"

#include <string.h>

#define F ANYMAX_F32

static float x_host[6] = {1, 2, 3, 4, 5, 7}, out_host[4];

static anymax_tensor column(float *data, int64_t length) {
    anymax_tensor t = anymax_host_tensor(data, F, 1, &length);
    t.strided = true;
    t.stride[0] = 2;
    return t;
}

static void strides(anymax_tensor *t, int64_t a, int64_t b) {
    t->strided = true;
    t->stride[0] = a;
    t->stride[1] = b;
}

static void sync_ok(anymax_stream *stream) {
    ck_assert_int_eq(anymax_stream_sync(stream), ANYMAX_OK);
}

static void out_is(float a, float b, float c, float d) {
    const float wants[4] = {a, b, c, d};
    for (int i = 0; i < 4; i++)
        ck_assert_msg(fabsf(out_host[i] - wants[i]) < 1e-4f, "element %d is %g, not %g", i,
                      (double)out_host[i], (double)wants[i]);
}

/* Outputs with gaps leave alone what lies in them, be it another output, of the same call or not.
 */
START_TEST(host_columns) {
    static const int64_t shape[2] = {2, 3}, rows = 2;
    static int32_t target[2] = {0, 1};
    anymax_tensor x = anymax_host_tensor(x_host, F, 2, shape), left = column(out_host, 2);
    anymax_tensor right = column(out_host + 1, 2),
                  t = anymax_host_tensor(target, ANYMAX_I32, 1, &rows);
    anymax_cross_entropy loss = {.reduction = ANYMAX_REDUCE_NONE};
    anymax_map sum = {.kind = ANYMAX_LOGSUMEXP};
    anymax_stream *stream;
    ck_assert_int_eq(anymax_stream_create(test_main_device.device, NULL, &stream), ANYMAX_OK);
    ck_assert_int_eq(anymax_cross_entropy_forward(stream, &loss, &x, &t, NULL, &left, &right),
                     ANYMAX_OK);
    sync_ok(stream);
    out_is(2.407606f, 3.407606f, 2.169846f, 7.169846f);
    memset(out_host, 0, sizeof out_host);
    ck_assert_int_eq(anymax_map_forward(stream, &sum, &x, &right), ANYMAX_OK);
    ck_assert_int_eq(anymax_map_forward(stream, &sum, &x, &left), ANYMAX_OK);
    sync_ok(stream);
    out_is(3.407606f, 3.407606f, 7.169846f, 7.169846f);
    anymax_stream_release(stream);
}
END_TEST

/* Calls follow on each other through host memory, without a sync between them. */
START_TEST(host_chain) {
    enum { LENGTH = 777, CALLS = 12 };
    static const anymax_map_kind kinds[3] = {ANYMAX_SOFTMAX, ANYMAX_ENTMAX15, ANYMAX_LOG_SOFTMAX};
    static float values[2][LENGTH], copied[2][LENGTH];
    const int64_t length = LENGTH;
    anymax_buffer *buffer;
    anymax_stream *stream;
    ck_assert_int_eq(anymax_stream_create(test_main_device.device, NULL, &stream), ANYMAX_OK);
    ck_assert_int_eq(anymax_buffer_create(test_main_device.device, sizeof copied[0], &buffer),
                     ANYMAX_OK);
    for (int turn = 0; turn < 2; turn++) { /* the first one with a sync after each call */
        anymax_tensor x = anymax_host_tensor(values[turn], F, 1, &length), part = x;
        for (int i = 0; i < LENGTH; i++) values[turn][i] = (float)(i % 13) * 0.3f;
        part.shape[0] = LENGTH / 2;
        part.strided = true;
        part.stride[0] = 2; /* results that wait to be spread */
        for (int call = 0; call < CALLS; call++) {
            const anymax_map map = {.kind = kinds[call % 3]};
            const anymax_tensor *on = call % 2 ? &part : &x;
            ck_assert_int_eq(anymax_map_forward(stream, &map, on, on), ANYMAX_OK);
            if (turn == 0) sync_ok(stream);
        }
        ck_assert_int_eq(anymax_buffer_write(stream, buffer, 0, values[turn], sizeof copied[0]),
                         ANYMAX_OK);
        ck_assert_int_eq(anymax_buffer_read(stream, buffer, 0, copied[turn], sizeof copied[0]),
                         ANYMAX_OK);
        sync_ok(stream);
    }
    ck_assert_mem_eq(values[1], values[0], sizeof values[0]);
    ck_assert_mem_eq(copied[0], values[0], sizeof values[0]);
    ck_assert_mem_eq(copied[1], values[0], sizeof values[0]);
    anymax_buffer_release(buffer);
    anymax_stream_release(stream);
}
END_TEST

/* The left and the right half of one matrix do not overlap; with a column in common they do. */
START_TEST(host_halves) {
    static const int64_t shape[2] = {2, 2};
    static float matrix[8] = {1, 2, 0, 0, 3, 5, 0, 0};
    anymax_tensor x = anymax_host_tensor(matrix, F, 2, shape),
                  y = anymax_host_tensor(matrix + 2, F, 2, shape);
    anymax_map softmax = {.kind = ANYMAX_SOFTMAX};
    anymax_stream *stream;
    strides(&x, 4, 1);
    strides(&y, 4, 1);
    ck_assert_int_eq(anymax_stream_create(test_main_device.device, NULL, &stream), ANYMAX_OK);
    ck_assert_int_eq(anymax_map_forward(stream, &softmax, &x, &y), ANYMAX_OK);
    sync_ok(stream);
    memcpy(out_host, matrix, sizeof out_host);
    out_is(1, 2, 0.268941f, 0.731059f);
    memcpy(out_host, matrix + 4, sizeof out_host);
    out_is(3, 5, 0.119203f, 0.880797f);
    y.data = matrix + 1;
    ck_assert_int_eq(anymax_map_forward(stream, &softmax, &x, &y), ANYMAX_ERROR_INVALID);
    anymax_stream_release(stream);
}
END_TEST

/* Only the sum of data and offset_bytes matters, for alignment and for being in place. */
START_TEST(host_offset) {
    static float memory[8];
    static const int64_t n = 3;
    anymax_tensor x = anymax_host_tensor((char *)memory + 1, F, 1, &n);
    anymax_tensor y = anymax_host_tensor(memory + 1, F, 1, &n);
    anymax_map softmax = {.kind = ANYMAX_SOFTMAX};
    anymax_stream *stream;
    x.offset_bytes = 3;
    memcpy(memory + 1, x_host, 3 * sizeof *memory);
    ck_assert_int_eq(anymax_stream_create(test_main_device.device, NULL, &stream), ANYMAX_OK);
    ck_assert_int_eq(anymax_map_forward(stream, &softmax, &x, &y), ANYMAX_OK);
    sync_ok(stream);
    memcpy(out_host, memory + 1, sizeof out_host);
    out_is(0.090031f, 0.244728f, 0.665241f, 0);
    x.offset_bytes = 2;
    ck_assert_int_eq(anymax_map_forward(stream, &softmax, &x, &y), ANYMAX_ERROR_INVALID);
    anymax_stream_release(stream);
}
END_TEST

/* An input that several rows read cannot be the output. */
START_TEST(output_over_shared) {
    static const int64_t shape[2] = {2, 2}, n = 2;
    anymax_tensor x = anymax_host_tensor(x_host, F, 2, shape),
                  both = anymax_host_tensor(out_host, F, 1, &n);
    anymax_map sum = {.kind = ANYMAX_LOGSUMEXP, .bias = &both};
    anymax_stream *stream;
    out_host[0] = out_host[1] = 5;
    ck_assert_int_eq(anymax_stream_create(test_main_device.device, NULL, &stream), ANYMAX_OK);
    ck_assert_int_eq(anymax_map_forward(stream, &sum, &x, &both), ANYMAX_ERROR_INVALID);
    ck_assert(out_host[0] == 5 && out_host[1] == 5);
    anymax_stream_release(stream);
}
END_TEST

/* Without classes a reduced loss is left alone, whatever the workspace holds. */
START_TEST(no_classes) {
    static const int64_t shape[2] = {3, 0}, full[2] = {3, 2}, rows = 3, one = 1;
    static int32_t target[3];
    anymax_tensor x = anymax_host_tensor(x_host, F, 2, full),
                  loss = anymax_host_tensor(out_host, F, 1, &one);
    anymax_tensor t = anymax_host_tensor(target, ANYMAX_I32, 1, &rows);
    anymax_cross_entropy mean = {.reduction = ANYMAX_REDUCE_MEAN};
    anymax_stream *stream;
    ck_assert_int_eq(anymax_stream_create(test_main_device.device, NULL, &stream), ANYMAX_OK);
    ck_assert_int_eq(anymax_cross_entropy_forward(stream, &mean, &x, &t, NULL, &loss, NULL),
                     ANYMAX_OK);
    sync_ok(stream);
    out_host[0] = 5;
    x = anymax_host_tensor(x_host, F, 2, shape);
    ck_assert_int_eq(anymax_cross_entropy_forward(stream, &mean, &x, &t, NULL, &loss, NULL),
                     ANYMAX_OK);
    sync_ok(stream);
    ck_assert(out_host[0] == 5);
    anymax_stream_release(stream);
}
END_TEST

static void add(Suite *suite) {
    TCase *host = tcase_create("host");
    tcase_add_test(host, host_columns);
    tcase_add_test(host, host_chain);
    tcase_add_test(host, host_halves);
    tcase_add_test(host, host_offset);
    tcase_add_test(host, output_over_shared);
    tcase_add_test(host, no_classes);
    suite_add_tcase(suite, host);
}

int main(int argc, char **argv) {
    return test_main(argc, argv, "host_memory", add);
}
