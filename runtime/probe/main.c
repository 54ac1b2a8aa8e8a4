/* anymax-probe BACKEND[,BACKEND...] SECONDS: lists the devices of the backends in turn, and says
 * when it is done and what the last one has. The library runs it before it lists them itself
 * (../probe.h): what would crash there, crashes here. */
#include <anymax/anymax.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../os.h"

/* A selector of the backend that fits none of its devices: all are listed, none is opened. Where
 * there are none, the message goes on with the reason, which is returned. */
static const char *list(const char *backend, int length) {
    char selector[64];
    const anymax_device_desc desc = {.selector = selector};
    anymax_device *device = NULL;
    snprintf(selector, sizeof selector, "%.*s:none", length > 40 ? 40 : length, backend);
    anymax_device_open(&desc, &device);
    return strstr(anymax_error_message(), "; ");
}

int main(int argc, char **argv) {
    const char *reason = NULL, *at;
    size_t length;
    if (argc != 3) {
        fputs("usage: anymax-probe BACKENDS SECONDS (run by the library anymax)\n", stderr);
        return 2;
    }
    am_child_limits((uint32_t)strtoul(argv[2], NULL, 10));
    printf("anymax-probe: begin %s\n", argv[1]);
    fflush(stdout);
    for (at = argv[1]; *at; at += length + (at[length] == ',')) {
        length = strcspn(at, ",");
        reason = list(at, (int)length);
    }
    printf("\nanymax-probe: end%s%s\n", reason ? " without devices" : "", reason ? reason : "");
    fflush(stdout);
    /* Without the drivers' last acts: what they do at the end of a process is not in question. */
    _Exit(0);
}
