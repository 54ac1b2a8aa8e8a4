/* anchor.c: finds the backend of an anchor and sizes its buffers. */
#include "anchor.h"

#include <stdlib.h>
#include <string.h>

static const anchor_backend *const backends[] = {
    &anchor_cpu,
#ifdef AM_HAVE_OPENCL
    &anchor_opencl,
#endif
#ifdef AM_HAVE_VULKAN
    &anchor_vulkan,
#endif
};

anchor *anchor_create(const anymax_device_info *info, uint32_t threads, io_error *error) {
    anchor *a = calloc(1, sizeof *a);
    size_t i;
    if (!a) {
        io_fail(error, "no memory");
        return NULL;
    }
    a->info = info;
    a->threads = threads ? threads : 1;
    for (i = 0; i < sizeof backends / sizeof *backends; i++)
        if (strcmp(backends[i]->name, info->backend) == 0) a->backend = backends[i];
    if (a->backend ? a->backend->open(a) : io_fail(&a->error, "no copy for %s", info->backend))
        return a;
    *error = a->error;
    anchor_free(a);
    return NULL;
}

void anchor_free(anchor *a) {
    if (a && a->backend) a->backend->close(a);
    free(a);
}

const char *anchor_kind_name(anchor_kind kind) {
    return kind == ANCHOR_COPY ? "copy" : "read";
}

static bool copies_all(anchor *a) {
    uint32_t word[2] = {0};
    if (!a->backend->run(a) || !a->backend->ends(a, word)) return false;
    if (word[0] == ANCHOR_WORD && word[1] == ANCHOR_WORD) return true;
    return io_fail(&a->error, "the copy that it was to be held against is wrong");
}

bool anchor_prepare(anchor *a, anchor_kind kind, double bytes, io_error *error) {
    double wanted = kind == ANCHOR_COPY ? bytes / 2 : bytes, most = 0x1p40;
    size_t length;
    if (a->info->max_alloc_bytes && (double)a->info->max_alloc_bytes < most)
        most = (double)a->info->max_alloc_bytes;
    if (a->info->max_binding_bytes && (double)a->info->max_binding_bytes < most)
        most = (double)a->info->max_binding_bytes;
    if (wanted > most - (double)ANCHOR_GRAIN) wanted = most - (double)ANCHOR_GRAIN;
    length = ((size_t)wanted + ANCHOR_GRAIN - 1) / ANCHOR_GRAIN * ANCHOR_GRAIN;
    if (length == 0) length = ANCHOR_GRAIN;
    if (a->kind == kind && a->length == length) return true;
    a->kind = kind;
    a->length = length;
    if (a->backend->resize(a) && (kind == ANCHOR_READ || copies_all(a))) return true;
    *error = a->error;
    a->length = 0;
    return false;
}

double anchor_bytes(const anchor *a) {
    return (a->kind == ANCHOR_COPY ? 2 : 1) * (double)a->length;
}

bool anchor_run(void *user) {
    anchor *a = user;
    return a->backend->run(a);
}

bool anchor_empty(void *user) {
    anchor *a = user;
    return a->backend->empty(a);
}
