/* System calls of the helper `anymax-probe`, which is compiled with this file; the library does not
 * use it. */
#if !defined(_WIN32) && !defined(_GNU_SOURCE) && !defined(_DARWIN_C_SOURCE)
#define _GNU_SOURCE
#define _DARWIN_C_SOURCE
#endif
#include "os.h"

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

void am_child_limits(uint32_t seconds) {
    (void)seconds; /* the parent's job object ends it */
    SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX | SEM_NOOPENFILEERRORBOX);
}
#else
#include <sys/resource.h>
#include <unistd.h>

void am_child_limits(uint32_t seconds) {
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none); /* a crash is the answer here, not a case for a debugger */
    alarm(seconds + 1);            /* nobody else is left to end it, if the parent died */
}
#endif
