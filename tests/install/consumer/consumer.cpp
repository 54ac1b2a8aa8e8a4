// The same as consumer.c, as C++11.
#include <anymax/anymax.h>

#include <cmath>
#include <cstdio>

int main() {
    float x[2] = {0.0f, 1.0986123f}, y[2] = {0.0f, 0.0f};
    const int64_t shape[1] = {2};
    anymax_tensor tx = anymax_host_tensor(x, ANYMAX_F32, 1, shape);
    anymax_tensor ty = anymax_host_tensor(y, ANYMAX_F32, 1, shape);
    anymax_device *device = nullptr;
    anymax_stream *stream = nullptr;
    anymax_map map = {};
    bool ok = anymax_device_open(nullptr, &device) == ANYMAX_OK &&
              anymax_stream_create(device, nullptr, &stream) == ANYMAX_OK &&
              anymax_map_forward(stream, &map, &tx, &ty) == ANYMAX_OK &&
              anymax_stream_sync(stream) == ANYMAX_OK;
    if (!ok) std::fprintf(stderr, "%s\n", anymax_error_message());
    anymax_stream_release(stream);
    anymax_device_release(device);
    std::printf("C++: %.6f %.6f\n", static_cast<double>(y[0]), static_cast<double>(y[1]));
    return ok && std::fabs(y[0] - 0.25f) < 1e-6f && std::fabs(y[1] - 0.75f) < 1e-6f ? 0 : 1;
}
