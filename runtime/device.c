/* Finding, choosing and opening devices; buffers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "error.h"
#include "os.h"
#include "probe.h"
#include "selector.h"

static const am_backend *const backends[] = {&am_cpu_backend, &am_opencl_backend,
                                             &am_vulkan_backend};
#define BACKENDS (sizeof backends / sizeof backends[0])

/* ---------------------------------------------------------------- walking */

typedef struct walk {
    anymax_device_visitor visit;
    void *user;
    const am_backend *backend;
    bool stopped;
    size_t seen; /* devices of this backend */
    char probed[64];
} walk;

static void walk_found(void *user, uint32_t index, const anymax_device_info *info) {
    walk *w = user;
    anymax_device_info named = *info;
    w->seen++;
    if (w->stopped) return;
    if (strcmp(w->backend->name, "cpu") == 0)
        snprintf(named.selector, sizeof named.selector, "cpu");
    else
        snprintf(named.selector, sizeof named.selector, "%s:%u", w->backend->name, index);
    snprintf(named.backend, sizeof named.backend, "%s", w->backend->name);
    snprintf(named.probe, sizeof named.probe, "%s", w->probed);
    w->stopped = !w->visit(w->user, &named, NULL);
}

/* Backends named in ANYMAX_SKIP ("opencl,vulkan") are left alone: some drivers cannot even be
 * enumerated without harm. The CPU has no driver, and is what is left without the others. */
static bool skipped(const char *name) {
    const char *list = getenv("ANYMAX_SKIP");
    return list && strcmp(name, "cpu") != 0 && am_list_has(list, name);
}

/* Whether the last message begins with the backend's name. */
static bool names(const char *backend) {
    size_t length = strlen(backend);
    const char *message = anymax_error_message();
    return strncmp(message, backend, length) == 0 && message[length] == ':';
}

static bool walk_backend(walk *w, const am_backend *backend) {
    anymax_status status;
    char reason[1100];
    w->backend = backend;
    w->seen = 0;
    if (skipped(backend->name)) {
        snprintf(reason, sizeof reason, "%s: skipped, as ANYMAX_SKIP says", backend->name);
    } else {
        status = am_probe(backend->drivers, w->probed, sizeof w->probed);
        if (status == ANYMAX_OK) status = backend->enumerate(walk_found, w);
        if (status == ANYMAX_OK && w->seen > 0) return !w->stopped;
        if (status == ANYMAX_OK)
            snprintf(reason, sizeof reason, "%s: no device", backend->name);
        else /* the message begins with the backend's name, or does not */
            snprintf(reason, sizeof reason, "%s%s%s", names(backend->name) ? "" : backend->name,
                     names(backend->name) ? "" : ": ", anymax_error_message());
    }
    if (!w->stopped) w->stopped = !w->visit(w->user, NULL, reason);
    return !w->stopped;
}

anymax_status anymax_devices_visit(anymax_device_visitor visit, void *user) {
    walk w = {0};
    if (!visit) return am_fail(ANYMAX_ERROR_INVALID, "devices_visit: visit is NULL");
    w.visit = visit;
    w.user = user;
    for (size_t i = 0; i < BACKENDS && walk_backend(&w, backends[i]); i++) {
    }
    return ANYMAX_OK;
}

/* ---------------------------------------------------------------- choosing */

typedef struct choice {
    const char *selector;
    const am_backend *backend;
    uint32_t index;
    anymax_device_info info;
    int rank; /* of the best so far; 0: none */
    char reasons[1024];
} choice;

static bool choose(void *user, const anymax_device_info *info, const char *reason) {
    choice *c = user;
    int rank;
    if (!info) {
        size_t used = strlen(c->reasons);
        snprintf(c->reasons + used, sizeof c->reasons - used, "%s%s", used ? "; " : "", reason);
        return true;
    }
    rank = am_selector_fit(c->selector, info);
    if (rank > c->rank) {
        const char *colon = strchr(info->selector, ':');
        c->rank = rank;
        c->info = *info;
        c->index = colon ? (uint32_t)strtoul(colon + 1, NULL, 10) : 0;
        for (size_t i = 0; i < BACKENDS; i++)
            if (strcmp(backends[i]->name, info->backend) == 0) c->backend = backends[i];
    }
    return rank < AM_FIT_EXACT;
}

static anymax_status find(const char *selector, choice *c) {
    walk w = {0};
    w.visit = choose;
    w.user = c;
    c->selector = selector;
    for (size_t i = 0; i < BACKENDS; i++) {
        /* A selector that names its backend asks no other driver. */
        if (am_selector_names(selector, backends[i]->name)) {
            walk_backend(&w, backends[i]);
            goto found;
        }
    }
    for (size_t i = 0; i < BACKENDS && walk_backend(&w, backends[i]); i++) {
    }
found:
    if (c->rank > 0) return ANYMAX_OK;
    return am_fail(ANYMAX_ERROR_NOT_FOUND, "device_open: no device fits \"%.99s\"%s%s", selector,
                   c->reasons[0] ? "; " : "", c->reasons);
}

/* ---------------------------------------------------------------- opening */

anymax_status anymax_device_open(const anymax_device_desc *desc, anymax_device **out_device) {
    static const anymax_device_desc standard;
    const char *selector, *pretend, *threads, *cache = getenv("ANYMAX_CACHE");
    anymax_device *device;
    choice c = {0};
    anymax_status status;
    if (!out_device) return am_fail(ANYMAX_ERROR_INVALID, "device_open: out_device is NULL");
    *out_device = NULL;
    if (!desc) desc = &standard;
    selector = desc->selector && *desc->selector ? desc->selector : getenv("ANYMAX_DEVICE");
    if (!selector || !*selector) selector = "cpu";
    status = find(selector, &c);
    if (status != ANYMAX_OK) return status;

    device = am_alloc_zero(1, sizeof *device);
    if (!device) return am_fail(ANYMAX_ERROR_OUT_OF_MEMORY, "device_open: no host memory");
    device->backend = c.backend;
    device->info = c.info;
    atomic_init(&device->references, 1);
    atomic_init(&device->lost, false);
    pretend = desc->pretend ? desc->pretend : getenv("ANYMAX_PRETEND");
    if (pretend && *pretend) status = am_pretend_parse(pretend, &device->options.pretend);
    threads = getenv("ANYMAX_THREADS");
    device->options.threads = desc->threads;
    if (!desc->threads && threads && *threads) {
        char *end;
        unsigned long value = strtoul(threads, &end, 10);
        if (*end || value > 4096)
            status = am_fail(ANYMAX_ERROR_INVALID,
                             "device_open: ANYMAX_THREADS is \"%.99s\", not a number up to 4096",
                             threads);
        device->options.threads = (uint32_t)value;
    }
    device->options.no_cache = desc->no_cache || am_is_off(cache);
    device->options.always_cache = cache && strcmp(cache, "always") == 0;
    am_fault_arm_all(&device->faults, &device->options.pretend);
    device->options.faults = &device->faults;
    if (status == ANYMAX_OK)
        status = c.backend->open(c.index, &device->options, &device->state, &device->limits);
    if (status != ANYMAX_OK) {
        am_free(device);
        return status;
    }
    device->info.max_binding_bytes = device->limits.range_bytes;
    device->info.max_alloc_bytes = device->limits.alloc_bytes;
    if (device->options.pretend.no_storage16) device->info.storage16 = false;
    *out_device = device;
    return ANYMAX_OK;
}

void anymax_device_retain(anymax_device *device) {
    if (device) atomic_fetch_add(&device->references, 1);
}

void anymax_device_release(anymax_device *device) {
    if (!device || atomic_fetch_sub(&device->references, 1) != 1) return;
    device->backend->close(device->state);
    am_free(device);
}

const anymax_device_info *anymax_device_get_info(const anymax_device *device) {
    return device ? &device->info : NULL;
}

anymax_status am_device_check(anymax_device *device, anymax_status status) {
    if (status == ANYMAX_ERROR_DEVICE_LOST && !atomic_exchange(&device->lost, true))
        am_fail(status, "%s (%s) is lost: %s", device->info.selector, device->info.name,
                anymax_error_message());
    return status;
}

anymax_status am_device_alive(anymax_device *device) {
    if (!atomic_load(&device->lost)) return ANYMAX_OK;
    return am_fail(ANYMAX_ERROR_DEVICE_LOST, "%s (%s) is lost; open it again",
                   device->info.selector, device->info.name);
}

/* ---------------------------------------------------------------- buffers */

anymax_status anymax_buffer_create(anymax_device *device, size_t size_bytes,
                                   anymax_buffer **out_buffer) {
    anymax_buffer *buffer;
    anymax_status status;
    if (!out_buffer) return am_fail(ANYMAX_ERROR_INVALID, "buffer_create: out_buffer is NULL");
    *out_buffer = NULL;
    if (!device) return am_fail(ANYMAX_ERROR_INVALID, "buffer_create: device is NULL");
    if (size_bytes == 0) return am_fail(ANYMAX_ERROR_INVALID, "buffer_create: size_bytes is 0");
    if (am_device_alive(device) != ANYMAX_OK) return ANYMAX_ERROR_DEVICE_LOST;
    if (size_bytes > device->limits.alloc_bytes)
        return am_fail(ANYMAX_ERROR_OUT_OF_MEMORY,
                       "buffer_create: %zu bytes; %s allocates at most %llu at once", size_bytes,
                       device->info.selector, (unsigned long long)device->limits.alloc_bytes);
    buffer = am_alloc_zero(1, sizeof *buffer);
    if (!buffer) return am_fail(ANYMAX_ERROR_OUT_OF_MEMORY, "buffer_create: no host memory");
    status = am_device_check(
        device, device->backend->memory_create(device->state, size_bytes, &buffer->memory));
    if (status != ANYMAX_OK) {
        am_free(buffer);
        return status;
    }
    anymax_device_retain(device);
    buffer->device = device;
    buffer->size_bytes = size_bytes;
    atomic_init(&buffer->references, 1);
    *out_buffer = buffer;
    return ANYMAX_OK;
}

void anymax_buffer_retain(anymax_buffer *buffer) {
    if (buffer) atomic_fetch_add(&buffer->references, 1);
}

void anymax_buffer_release(anymax_buffer *buffer) {
    anymax_device *device;
    if (!buffer || atomic_fetch_sub(&buffer->references, 1) != 1) return;
    device = buffer->device;
    device->backend->memory_destroy(device->state, buffer->memory);
    am_free(buffer);
    anymax_device_release(device);
}

size_t anymax_buffer_size(const anymax_buffer *buffer) {
    return buffer ? buffer->size_bytes : 0;
}
