/* Messages of failures, names of status codes, the log, the version. */
#include "error.h"

#include "os.h"

#include <stdarg.h>
#include <stdio.h>

#if defined(_MSC_VER) && !defined(__clang__)
#define AM_THREAD_LOCAL __declspec(thread)
#else
#define AM_THREAD_LOCAL _Thread_local
#endif

#define MESSAGE_BYTES 1024

static AM_THREAD_LOCAL char thread_message[MESSAGE_BYTES];

static struct {
    am_mutex mutex;
    anymax_log_callback callback;
    void *user;
} sink;

/* Whatever stands in a name, in a path or in a driver's own message. */
static void one_line(char *text) {
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 127) *text = ' ';
}

anymax_status am_fail(anymax_status status, const char *format, ...) {
    /* An argument may be the message itself, so it is put together elsewhere first. */
    char text[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    one_line(text);
    snprintf(thread_message, sizeof thread_message, "%s", text);
    return status;
}

anymax_status am_fail_torn(const char *what) {
    return am_fail(ANYMAX_ERROR_DEVICE_LOST, "%s: only a part of it has run: %s", what,
                   thread_message);
}

const char *anymax_error_message(void) {
    return thread_message;
}

const char *anymax_status_string(anymax_status status) {
    switch (status) {
    case ANYMAX_OK:
        return "ok";
    case ANYMAX_ERROR_INVALID:
        return "invalid argument";
    case ANYMAX_ERROR_UNSUPPORTED:
        return "unsupported on this device";
    case ANYMAX_ERROR_NOT_FOUND:
        return "not found";
    case ANYMAX_ERROR_OUT_OF_MEMORY:
        return "out of memory";
    case ANYMAX_ERROR_DEVICE:
        return "device error";
    case ANYMAX_ERROR_DEVICE_LOST:
        return "device lost";
    case ANYMAX_ERROR_DATA:
        return "data out of range";
    }
    return "unknown status";
}

void anymax_set_log(anymax_log_callback callback, void *user) {
    am_mutex_lock(&sink.mutex);
    sink.callback = callback;
    sink.user = user;
    am_mutex_unlock(&sink.mutex);
}

void am_log(const char *format, ...) {
    char text[MESSAGE_BYTES];
    anymax_log_callback callback;
    void *user;
    va_list arguments;
    am_mutex_lock(&sink.mutex);
    callback = sink.callback;
    user = sink.user;
    am_mutex_unlock(&sink.mutex);
    if (!callback) return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    one_line(text);
    callback(user, text);
}

uint32_t anymax_version(void) {
    return ANYMAX_VERSION_MAJOR * 1000000u + ANYMAX_VERSION_MINOR * 1000u + ANYMAX_VERSION_PATCH;
}
