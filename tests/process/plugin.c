/* Loads the shared library as a plug-in would: plugin LIBRARY. Closes it with live objects, whose
 * threads must find their code where it was, loads it again, and exits with those alive. */
#include <anymax/anymax.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef anymax_status (*open_function)(const anymax_device_desc *, anymax_device **);
typedef anymax_status (*stream_function)(anymax_device *, const anymax_stream_desc *,
                                         anymax_stream **);
typedef anymax_status (*map_function)(anymax_stream *, const anymax_map *, const anymax_tensor *,
                                      const anymax_tensor *);

/* ISO C has no conversion from an object pointer to a function's. */
static void symbol(void *library, const char *name, void *function) {
    void *address = dlsym(library, name);
    if (address == NULL) {
        printf("%s is not exported\n", name);
        exit(EXIT_FAILURE);
    }
    memcpy(function, &address, sizeof address);
}

static int use(const char *path) {
    enum { N = 50000 };
    static float y[N];
    int64_t n = N;
    anymax_device_desc desc = {.selector = getenv("ANYMAX_TEST_DEVICE")};
    anymax_map m = {.kind = ANYMAX_SOFTMAX};
    anymax_tensor t = anymax_host_tensor(y, ANYMAX_F32, 1, &n);
    anymax_device *device;
    anymax_stream *stream;
    open_function open_device;
    stream_function create_stream;
    map_function forward;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        printf("%s\n", dlerror());
        return EXIT_FAILURE;
    }
    symbol(library, "anymax_device_open", &open_device);
    symbol(library, "anymax_stream_create", &create_stream);
    symbol(library, "anymax_map_forward", &forward);
    if (open_device(&desc, &device) != ANYMAX_OK) return 77;
    if (create_stream(device, NULL, &stream) != ANYMAX_OK) return EXIT_FAILURE;
    for (int i = 0; i < 20; i++)
        if (forward(stream, &m, &t, &t) != ANYMAX_OK) return EXIT_FAILURE;
    return dlclose(library) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv) {
    int status = argc > 1 ? use(argv[1]) : EXIT_FAILURE;
    return status == EXIT_SUCCESS ? use(argv[1]) : status;
}
