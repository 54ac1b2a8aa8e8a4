/* The message of the last failure of this thread, and the log. */
#ifndef AM_ERROR_H
#define AM_ERROR_H

#include <anymax/core.h>

#if defined(__GNUC__)
#define AM_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define AM_PRINTF(f, a)
#endif

/* Sets the thread's message and returns `status`, so that a caller can write return am_fail(...).
 */
anymax_status am_fail(anymax_status status, const char *format, ...) AM_PRINTF(2, 3);
/* The last failure, of a piece of `what` after other pieces had run: as outputs are torn, this is
 * ANYMAX_ERROR_DEVICE_LOST. */
anymax_status am_fail_torn(const char *what);
/* Sends one line to the log callback, if there is one. */
void am_log(const char *format, ...) AM_PRINTF(1, 2);

#endif
