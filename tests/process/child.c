/* A program of its own for what a test process cannot do to itself: child MODE.
 *
 *     devices   lists devices and reasons, one a line
 *     open      opens ANYMAX_TEST_DEVICE and prints which it is
 *     work      runs operations on ANYMAX_TEST_DEVICE and prints a checksum
 *     live      the same, and exits with device, buffers, stream and queued work alive
 *     start     prints the milliseconds from main() until the device is open, until a softmax of
 * one row has given its result, and of the same call once more */
#include <anymax/anymax.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void log_line(void *user, const char *message) {
    (void)user;
    printf("log: %s\n", message);
}

static bool list(void *user, const anymax_device_info *info, const char *reason) {
    (void)user;
    if (info != NULL)
        printf("device %s: %s\n", info->selector, info->name);
    else
        printf("reason %s\n", reason);
    return true;
}

static int fail(const char *what) {
    printf("%s: %s\n", what, anymax_error_message());
    return EXIT_FAILURE;
}

static anymax_status run(anymax_stream *stream, float *y, int64_t n) {
    anymax_tensor t = anymax_host_tensor(y, ANYMAX_F32, 1, &n);
    static const anymax_map_kind kinds[] = {ANYMAX_SOFTMAX, ANYMAX_ENTMAX15, ANYMAX_LOG_SOFTMAX};
    for (int i = 0; i < 3; i++) {
        anymax_map m = {.kind = kinds[i]};
        anymax_status status = anymax_map_forward(stream, &m, &t, &t);
        if (status != ANYMAX_OK) return status;
    }
    return ANYMAX_OK;
}

static double milliseconds(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static int start(const anymax_device_desc *desc) {
    static float y[64] = {1};
    static const int64_t n = 64;
    const double began = milliseconds();
    const anymax_map map = {.kind = ANYMAX_SOFTMAX};
    const anymax_tensor t = anymax_host_tensor(y, ANYMAX_F32, 1, &n);
    double at[3];
    anymax_device *device;
    anymax_stream *stream;
    if (anymax_device_open(desc, &device) != ANYMAX_OK) return fail("device_open");
    at[0] = milliseconds();
    if (anymax_stream_create(device, NULL, &stream) != ANYMAX_OK) return fail("stream_create");
    for (int i = 1; i < 3; i++) {
        if (anymax_map_forward(stream, &map, &t, &t) != ANYMAX_OK ||
            anymax_stream_sync(stream) != ANYMAX_OK)
            return fail("run");
        at[i] = milliseconds();
    }
    printf("open %.1f ms, first result %.1f ms, once more %.3f ms\n", at[0] - began, at[1] - began,
           at[2] - at[1]);
    anymax_stream_release(stream);
    anymax_device_release(device);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
    enum { N = 777 };
    const char *mode = argc > 1 ? argv[1] : "";
    static float y[N];
    anymax_device_desc desc = {.selector = getenv("ANYMAX_TEST_DEVICE")};
    anymax_device *device;
    anymax_stream *stream;
    anymax_buffer *buffer;
    double sum = 0;
    anymax_set_log(log_line, NULL);
    if (strcmp(mode, "devices") == 0) {
        if (anymax_devices_visit(list, NULL) != ANYMAX_OK) return fail("devices_visit");
        return EXIT_SUCCESS;
    }
    if (strcmp(mode, "start") == 0) return start(&desc);
    if (anymax_device_open(&desc, &device) != ANYMAX_OK) {
        fail("device_open");
        return 77;
    }
    if (strcmp(mode, "open") == 0) {
        list(NULL, anymax_device_get_info(device), NULL);
        anymax_device_release(device);
        return EXIT_SUCCESS;
    }
    if (anymax_stream_create(device, NULL, &stream) != ANYMAX_OK) return fail("stream_create");
    if (anymax_buffer_create(device, 4096, &buffer) != ANYMAX_OK) return fail("buffer_create");
    for (int i = 0; i < N; i++) y[i] = (float)(i % 13) / 4;
    if (run(stream, y, N) != ANYMAX_OK || anymax_stream_sync(stream) != ANYMAX_OK)
        return fail("run");
    for (int i = 0; i < N; i++) sum += y[i] * (i + 1);
    printf("sum %.9g\n", sum);
    if (strcmp(mode, "live") == 0) {
        if (run(stream, y, N) != ANYMAX_OK) return fail("run again");
        return EXIT_SUCCESS;
    }
    anymax_buffer_release(buffer);
    anymax_stream_release(stream);
    anymax_device_release(device);
    return EXIT_SUCCESS;
}
