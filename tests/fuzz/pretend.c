/* pretend.c: bytes as the grammar of ANYMAX_PRETEND. What it takes opens a CPU device, which then
 * does a small softmax right or says why it does not. */
#include "pretend.h"

#include "fuzz.h"

#include <anymax/map.h>
#include <math.h>

static void tiny_softmax(anymax_stream *stream, const char *text) {
    static const int64_t shape[2] = {3, 5};
    float x[15], y[15];
    anymax_tensor in = anymax_host_tensor(x, ANYMAX_F32, 2, shape);
    anymax_tensor out = anymax_host_tensor(y, ANYMAX_F32, 2, shape);
    anymax_map map = {.kind = ANYMAX_SOFTMAX};
    int i, row;
    for (i = 0; i < 15; i++) x[i] = (float)(i % 4), y[i] = -1;
    if (anymax_map_forward(stream, &map, &in, &out) != ANYMAX_OK ||
        anymax_stream_sync(stream) != ANYMAX_OK) {
        fuzz_sentence(anymax_error_message());
        return;
    }
    for (row = 0; row < 3; row++) {
        float sum = 0;
        for (i = 0; i < 5; i++) sum += y[row * 5 + i];
        fuzz_check(fabsf(sum - 1) < 1e-5f, "a pretended device gives right results", text);
    }
}

static void on_device(const char *text) {
    anymax_device_desc desc = {.selector = "cpu", .threads = 1, .pretend = text};
    anymax_device *device = NULL;
    anymax_stream *stream = NULL;
    if (anymax_device_open(&desc, &device) == ANYMAX_OK &&
        anymax_stream_create(device, NULL, &stream) == ANYMAX_OK)
        tiny_softmax(stream, text);
    else
        fuzz_sentence(anymax_error_message());
    anymax_stream_release(stream);
    anymax_device_release(device);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    am_pretend pretend;
    if (!text) abort();
    if (size) memcpy(text, data, size);
    text[size] = 0;
    if (am_pretend_parse(text, &pretend) == ANYMAX_OK)
        on_device(text);
    else
        fuzz_sentence(anymax_error_message());
    free(text);
    return 0;
}
