/* Tensors of 300 MiB, beyond what one binding may cover on many devices (128 MiB on some), and rows
 * that lie gigabytes apart. Inputs are functions of their index, so that nothing is kept twice. */
#define _DEFAULT_SOURCE /* mmap, where there is one */

#include "support/cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

/* Numbers from -4 to 4 that repeat only after a long while. */
static float score(int64_t i) {
    uint32_t h = (uint32_t)i * 2654435761u ^ (uint32_t)(i >> 32) * 40503u;
    h ^= h >> 15;
    return (float)(h & 0xffff) / 8192.0f - 4.0f;
}

/* Runs softmax in place over `rows` rows of `n` columns that are `step` apart, and compares every
 * element, between which nothing may have changed. */
static void run(const char *name, int64_t rows, int64_t n, int64_t step) {
    anymax_stream *stream = test_main_device.stream;
    size_t count = (size_t)(rows * n * step), bytes = count * sizeof(float);
    float *data = malloc(bytes);
    double bound = ldexp(6 + 3 * 20 + sqrt((double)n) / 8, -24), start = test_now();
    anymax_buffer *buffer;
    anymax_map m = {.kind = ANYMAX_SOFTMAX};
    anymax_tensor t = {.rank = 2, .shape = {rows, n}, .strided = true, .stride = {n * step, step}};
    anymax_status status;
    ck_assert_msg(data != NULL, "%s: this machine has no %zu bytes", name, bytes);
    for (size_t i = 0; i < count; i++) data[i] = score((int64_t)i);
    status = anymax_buffer_create(test_main_device.device, bytes, &buffer);
    ck_assert_msg(status == ANYMAX_OK, "%s: %s", name, anymax_error_message());
    t.buffer = buffer;
    ck_assert_int_eq(anymax_buffer_write(stream, buffer, 0, data, bytes), ANYMAX_OK);
    memset(data, 0, bytes);
    status = anymax_map_forward(stream, &m, &t, &t);
    ck_assert_msg(status == ANYMAX_OK, "%s: %s", name, anymax_error_message());
    ck_assert_int_eq(anymax_buffer_read(stream, buffer, 0, data, bytes), ANYMAX_OK);
    status = anymax_stream_sync(stream);
    ck_assert_msg(status == ANYMAX_OK, "%s: %s", name, anymax_error_message());
    anymax_buffer_release(buffer);
    for (int64_t r = 0; r < rows; r++) {
        const float *row = data + r * n * step;
        double sum = 0;
        for (int64_t k = 0; k < n; k++) sum += exp(score((r * n + k) * step));
        for (int64_t k = 0; k < n; k++) {
            double want = exp(score((r * n + k) * step)) / sum;
            /* Check notes each assertion in a file: too slow for millions */
            if (!(fabs(row[k * step] / want - 1) <= bound))
                ck_abort_msg("%s: row %lld, column %lld: %.9g, want %.9g", name, (long long)r,
                             (long long)k, row[k * step], want);
            if (step > 1 && row[k * step + 1] != score((r * n + k) * step + 1))
                ck_abort_msg("%s: row %lld: the element behind column %lld changed", name,
                             (long long)r, (long long)k);
        }
    }
    free(data);
    printf("%s: %.1f s\n", name, test_now() - start);
}

START_TEST(many_rows) {
    run("300 MiB, 76800 rows of 1024", 76800, 1024, 1);
}
END_TEST

START_TEST(long_rows) {
    run("300 MiB, 75 rows of 1048576", 75, 1048576, 1);
}
END_TEST

START_TEST(strided_row) {
    run("300 MiB, one row of 39321600, strided", 1, 39321600, 2);
}
END_TEST

/* Rows 2^30 elements apart: an index of 32 bits would wrap. Only devices that see host memory can
 * work on what is not there; the others must say so. */
START_TEST(far_apart) {
#if defined(__linux__)
    const int64_t far = (int64_t)1 << 30;
    size_t bytes = (size_t)(2 * far + 8) * sizeof(float);
    float *x = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    anymax_map m = {.kind = ANYMAX_SOFTMAX};
    anymax_tensor t = {.rank = 2, .shape = {3, 8}, .strided = true, .stride = {far, 1}};
    anymax_status status;
    ck_assert(x != MAP_FAILED);
    t.data = x;
    for (int64_t r = 0; r < 3; r++)
        for (int64_t k = 0; k < 8; k++) x[r * far + k] = (float)(r + k) / 4;
    if (test_is_backend("cpu")) {
        status = anymax_map_forward(test_main_device.stream, &m, &t, &t);
        ck_assert_msg(status == ANYMAX_OK, "%s", anymax_error_message());
        ck_assert_int_eq(anymax_stream_sync(test_main_device.stream), ANYMAX_OK);
        for (int64_t r = 0; r < 3; r++) {
            double sum = 0;
            for (int64_t k = 0; k < 8; k++) sum += x[r * far + k];
            ck_assert_msg(fabs(sum - 1) < 1e-6, "row %lld sums to %g", (long long)r, sum);
        }
    } else {
        test_device
            d; /* whose memory is smaller than that, so that a refusal is sure and harmless */
        test_device_open(&d, "memory=1g", 0);
        status = anymax_map_forward(d.stream, &m, &t, &t);
        ck_assert_msg(status == ANYMAX_ERROR_OUT_OF_MEMORY || status == ANYMAX_ERROR_UNSUPPORTED,
                      "%s", anymax_status_string(status));
        test_device_close(&d);
    }
    munmap(x, bytes);
#endif
}
END_TEST

static void add(Suite *suite) {
    TCase *cases = tcase_create("large");
    tcase_add_test(cases, many_rows);
    tcase_add_test(cases, long_rows);
    tcase_add_test(cases, strided_row);
    tcase_add_test(cases, far_apart);
    suite_add_tcase(suite, cases);
}

int main(int argc, char **argv) {
    return test_main(argc, argv, "large", add);
}
