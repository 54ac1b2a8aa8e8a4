/* A program of its own for what a test process cannot do to itself: child MODE.
 *
 *     devices   lists devices and reasons, one a line
 *     open      opens ANYMAX_TEST_DEVICE and prints which it is
 *     work      runs operations on ANYMAX_TEST_DEVICE and prints a checksum
 *     live      the same, and exits with device, buffers, stream and queued work alive */
#include <anymax/anymax.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
