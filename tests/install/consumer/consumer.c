/* What a user's first program does, as C: exit status 0 if softmax of (0, ln 3) is (1/4, 3/4). */
#include <anymax/anymax.h>

#include <math.h>
#include <stdio.h>

int main(void) {
    float x[2] = {0.0f, 1.0986123f}, y[2] = {0.0f, 0.0f};
    const int64_t shape[1] = {2};
    anymax_tensor tx = anymax_host_tensor(x, ANYMAX_F32, 1, shape);
    anymax_tensor ty = anymax_host_tensor(y, ANYMAX_F32, 1, shape);
    anymax_device *device = NULL;
    anymax_stream *stream = NULL;
    anymax_map map = {.kind = ANYMAX_SOFTMAX};
    int ok = anymax_device_open(NULL, &device) == ANYMAX_OK &&
             anymax_stream_create(device, NULL, &stream) == ANYMAX_OK &&
             anymax_map_forward(stream, &map, &tx, &ty) == ANYMAX_OK &&
             anymax_stream_sync(stream) == ANYMAX_OK;
    if (!ok) fprintf(stderr, "%s\n", anymax_error_message());
    anymax_stream_release(stream);
    anymax_device_release(device);
    printf("C: %.6f %.6f\n", (double)y[0], (double)y[1]);
    return ok && fabsf(y[0] - 0.25f) < 1e-6f && fabsf(y[1] - 0.75f) < 1e-6f ? 0 : 1;
}
