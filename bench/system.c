/* system.c: the only system calls of the command. */
#if !defined(_WIN32)
#define _POSIX_C_SOURCE 200809L
#endif
#include "system.h"

#include <string.h>

#if defined(_WIN32)
#include <io.h>
#include <windows.h>
#elif defined(__APPLE__)
#include <mach-o/dyld.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>
#else
#include <time.h>
#include <unistd.h>
#endif

static bool program_path(char *out, size_t size) {
#if defined(_WIN32)
    DWORD n = GetModuleFileNameA(NULL, out, (DWORD)size);
    return n > 0 && n < size;
#elif defined(__APPLE__)
    uint32_t n = (uint32_t)size;
    return _NSGetExecutablePath(out, &n) == 0;
#else
    ssize_t n = readlink("/proc/self/exe", out, size - 1);
    if (n <= 0 || (size_t)n >= size - 1) return false; /* a full buffer may be a cut path */
    out[n] = 0;
    return true;
#endif
}

bool system_program_folder(char *out, size_t size) {
    char *slash;
    if (!program_path(out, size)) return false;
    slash = strrchr(out, '/');
#if defined(_WIN32)
    if (!slash || strrchr(out, '\\') > slash) slash = strrchr(out, '\\');
#endif
    if (!slash) return false;
    *slash = 0;
    return true;
}

bool system_is_terminal(FILE *stream) {
#if defined(_WIN32)
    return _isatty(_fileno(stream)) != 0;
#else
    return isatty(fileno(stream)) != 0;
#endif
}

void system_sleep(double seconds) {
#if defined(_WIN32)
    Sleep((DWORD)(seconds * 1e3));
#else
    struct timespec t = {0, (long)(seconds * 1e9)};
    nanosleep(&t, NULL);
#endif
}
