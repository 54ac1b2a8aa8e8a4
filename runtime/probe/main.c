/* anymax-probe BACKEND SECONDS: lists the devices of one backend and says when it is done. The
 * library runs it before it lists them itself (../probe.h): what would crash there, crashes here.
 */
#include <anymax/anymax.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../os.h"

int main(int argc, char **argv) {
    char selector[64];
    const char *reason;
    anymax_device_desc desc = {.selector = selector};
    anymax_device *device = NULL;
    if (argc != 3) {
        fputs("usage: anymax-probe BACKEND SECONDS (run by the library anymax)\n", stderr);
        return 2;
    }
    am_child_limits((uint32_t)strtoul(argv[2], NULL, 10));
    printf("anymax-probe: begin %s\n", argv[1]);
    fflush(stdout);
    /* A selector of this backend that fits none of its devices: all are listed, none is opened.
     * Where there are none, the message goes on with the reason. */
    snprintf(selector, sizeof selector, "%.40s:none", argv[1]);
    anymax_device_open(&desc, &device);
    reason = strstr(anymax_error_message(), "; ");
    printf("\nanymax-probe: end%s%s\n", reason ? " without devices" : "", reason ? reason : "");
    fflush(stdout);
    /* Without the drivers' last acts: what they do at the end of a process is not in question. */
    _Exit(0);
}
