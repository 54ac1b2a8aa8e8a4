/* The probe of drivers: where the helper is, and verdicts, which are remembered. */
#include "probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "os.h"
#include "probe_trial.h"
#include "selector.h"

#define LIMIT_SECONDS 20u
/* A bad driver may get well by what no file tells: a kernel module, a reboot. */
#define BAD_HOLDS_SECONDS 86400
#define BACKENDS 4

typedef struct verdict {
    const char *backend; /* NULL: none yet */
    am_cache_key key;
    bool bad;
    char how[64], message[AM_TRIAL_MESSAGE_BYTES];
} verdict;

/* What this process has found out already, in the order of the probes. The lock is held while a
 * child runs: one probe at a time. */
static struct {
    am_mutex lock;
    verdict of[BACKENDS];
} known;

typedef struct probe {
    am_trial trial;
    char before[BACKENDS * sizeof(am_cache_key)]; /* keys of the verdicts on what was loaded */
    bool fresh;                                   /* found out just now */
} probe;

/* ---------------------------------------------------------------- the helper */

static bool is_there(const char *path) {
    uint64_t stamp[2];
    return am_file_stamp(path, stamp);
}

/* From the folder of this library, or of the program that it is linked into. */
static bool helper_near(char *out, size_t size) {
    static const char *const below[] = {"", AM_PROBE_FROM_LIB, AM_PROBE_FROM_BIN};
    anymax_status (*here)(const am_drivers *, char *, size_t) = am_probe;
    char own[512], *slash = NULL;
    void *address;
    memcpy(&address, &here, sizeof address);
    am_library_path(address, "", own, sizeof own);
    for (char *at = own; *at; at++)
        if (*at == '/' || *at == '\\') slash = at;
    /* A relative path is one from a folder that was current once. */
    if (!slash || (own[0] != '/' && own[0] != '\\' && own[1] != ':')) return false;
    slash[1] = '\0';
    for (size_t i = 0; i < sizeof below / sizeof below[0]; i++) {
        const int length = snprintf(out, size, "%s%s%s", own, below[i], AM_PROBE_NAME);
        if (length > 0 && (size_t)length < size && is_there(out)) return true;
    }
    return false;
}

static bool find_helper(char *out, size_t size, const char **why_not) {
    const char *path = getenv("ANYMAX_PROBE");
    *why_not = "not probed: no anymax-probe found";
    if (path && am_is_off(path)) {
        *why_not = "not probed: ANYMAX_PROBE is off";
        return false;
    }
    if (path && *path) {
        snprintf(out, size, "%s", path);
        return is_there(out);
    }
    if (helper_near(out, size)) return true;
    snprintf(out, size, "%s", AM_PROBE_INSTALLED);
    return is_there(out);
}

static uint32_t limit_seconds(void) {
    const char *text = getenv("ANYMAX_PROBE_SECONDS");
    const unsigned long value = text ? strtoul(text, NULL, 10) : 0;
    return value > 0 && value < 3600 ? (uint32_t)value : LIMIT_SECONDS;
}

/* ---------------------------------------------------------------- remembering */

/* In the cache: "sound", or "bad", the time in seconds, and the message. */
static bool recall(verdict *v) {
    char text[AM_TRIAL_MESSAGE_BYTES + 64];
    long long then = 0;
    size_t size;
    char *data = am_cache_read(v->key.name, &size), *message;
    if (!data) return false;
    if (size >= sizeof text) size = sizeof text - 1;
    memcpy(text, data, size);
    text[size] = '\0';
    am_free(data);
    if (strcmp(text, "sound") == 0) {
        v->bad = false;
    } else {
        const long long now = (long long)time(NULL);
        message = strchr(text, '\n');
        if (!message || sscanf(text, "bad %lld", &then) != 1) return false;
        if (now < then || now - then > BAD_HOLDS_SECONDS) return false;
        v->bad = true;
        snprintf(v->message, sizeof v->message, "%s", message + 1);
    }
    snprintf(v->how, sizeof v->how, "remembered from a child process");
    return true;
}

static void remember(const verdict *v) {
    char text[AM_TRIAL_MESSAGE_BYTES + 64] = "sound";
    if (v->bad) snprintf(text, sizeof text, "bad %lld\n%s", (long long)time(NULL), v->message);
    am_cache_write(v->key.name, text, strlen(text));
}

/* ---------------------------------------------------------------- the probe */

static void decide(probe *p, verdict *v, bool cache) {
    am_trial *t = &p->trial;
    const am_cache_key key = am_probe_key(&t->list, t->drivers, t->helper, p->before);
    const uint64_t start = am_time_ns();
    if (v->backend && strcmp(v->key.name, key.name) == 0) return;
    memset(v, 0, sizeof *v);
    v->backend = t->drivers->backend;
    v->key = key;
    if (cache && recall(v)) return;
    if (!am_trial_run(t, v->message)) {
        snprintf(v->how, sizeof v->how, "not probed: anymax-probe does not run");
        return;
    }
    snprintf(v->how, sizeof v->how, "in a child process, %u ms",
             (unsigned)((am_time_ns() - start) / 1000000));
    v->bad = v->message[0] != '\0';
    p->fresh = true;
    if (cache) remember(v);
}

/* The verdict of this backend, or room for it; notes what was loaded before it. */
static verdict *find_verdict(probe *p) {
    am_trial *t = &p->trial;
    verdict *v = known.of;
    for (; v < known.of + BACKENDS - 1 && v->backend; v++) {
        if (strcmp(v->backend, t->drivers->backend) == 0) break;
        if (v->bad) continue;
        am_text_add(t->chain, sizeof t->chain, v->backend);
        am_text_add(t->chain, sizeof t->chain, ",");
        am_text_add(t->after, sizeof t->after, t->after[0] ? " and " : " after ");
        am_text_add(t->after, sizeof t->after, v->backend);
        am_text_add(p->before, sizeof p->before, v->key.name);
    }
    am_text_add(t->chain, sizeof t->chain, t->drivers->backend);
    return v;
}

anymax_status am_probe(const am_drivers *drivers, char *how, size_t size) {
    anymax_status status = ANYMAX_OK;
    const char *why_not;
    verdict *v;
    probe *p;
    how[0] = '\0';
    if (!drivers) return ANYMAX_OK;
    p = am_alloc_zero(1, sizeof *p);
    if (!p) return am_fail(ANYMAX_ERROR_OUT_OF_MEMORY, "%s: no host memory", drivers->backend);
    p->trial.drivers = drivers;
    p->trial.seconds = limit_seconds();
    if (!find_helper(p->trial.helper, sizeof p->trial.helper, &why_not)) {
        snprintf(how, size, "%s", why_not);
        am_free(p);
        return ANYMAX_OK;
    }
    drivers->list(&p->trial.list);
    am_mutex_lock(&known.lock);
    v = find_verdict(p);
    decide(p, v, !am_is_off(getenv("ANYMAX_CACHE")));
    snprintf(how, size, "%s", v->how);
    if (v->bad) status = am_fail(ANYMAX_ERROR_DEVICE, "%s (probed %s)", v->message, v->how);
    am_mutex_unlock(&known.lock);
    if (status != ANYMAX_OK && p->fresh) am_log("%s", anymax_error_message());
    am_free(p);
    return status;
}
