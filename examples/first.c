#include <anymax/anymax.h>
#include <stdio.h>

int main(void) {
    float x[3] = {1, 2, 3}, y[3];
    anymax_device *device;
    anymax_stream *stream;
    anymax_tensor in = anymax_host_tensor(x, ANYMAX_F32, 1, (int64_t[]){3});
    anymax_tensor out = anymax_host_tensor(y, ANYMAX_F32, 1, (int64_t[]){3});
    anymax_map softmax = {.kind = ANYMAX_SOFTMAX};
    if (anymax_device_open(NULL, &device) || anymax_stream_create(device, NULL, &stream) ||
        anymax_map_forward(stream, &softmax, &in, &out) || anymax_stream_sync(stream))
        return puts(anymax_error_message()), 1;
    printf("%.3f %.3f %.3f\n", y[0], y[1], y[2]); /* 0.090 0.245 0.665 */
    anymax_stream_release(stream);
    anymax_device_release(device);
    return 0;
}
