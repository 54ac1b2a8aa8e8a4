/* The probe of drivers: the helper, its verdict, which driver is at fault, what is remembered. */
#include "probe.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device.h"
#include "os.h"

#define LIMIT_SECONDS 20u
/* A bad driver may get well by what no file tells: a kernel module, a reboot. */
#define BAD_HOLDS_SECONDS 86400
#define TEXT_BYTES 900
#define SETTINGS 4
#define SETTING_BYTES 8192
#define BACKENDS 4
#define BEGIN_MARK "anymax-probe: begin"
#define END_MARK "anymax-probe: end"
#define NONE_MARK "anymax-probe: end without devices; "

typedef struct verdict {
    const char *backend; /* NULL: none yet */
    am_cache_key key;
    bool bad;
    char how[64], message[TEXT_BYTES];
} verdict;

/* What this process has found out already, in the order of the probes. The lock is held while a
 * child runs: one probe at a time. */
static struct {
    am_mutex lock;
    verdict of[BACKENDS];
} known;

typedef struct probe {
    const am_drivers *drivers;
    char helper[1024];
    /* Drivers of other backends that this process has loaded are listed first, since they may not
     * go together: their names and this backend's, for people too, and the keys of their verdicts.
     */
    char chain[64], after[64], before[BACKENDS * sizeof(am_cache_key)];
    uint32_t seconds;
    am_driver_list list;
    bool keep[AM_DRIVERS_MAX], works[AM_DRIVERS_MAX]; /* what a run is given; what has devices */
    size_t working;
    am_child child; /* with all drivers */
    bool fresh;     /* found out just now */
    char setting[SETTINGS][SETTING_BYTES];
    char advice[SETTING_BYTES], named[TEXT_BYTES];
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

/* `keep` NULL: with the drivers as they are. */
static void run_helper(probe *p, const bool *keep, am_child *out) {
    char seconds[16];
    const char *const arguments[] = {p->helper, p->chain, seconds, NULL};
    /* The helper must not probe in its turn. */
    const char *changes[SETTINGS + 2] = {"ANYMAX_PROBE=off"};
    int count = 1;
    snprintf(seconds, sizeof seconds, "%u", (unsigned)p->seconds);
    for (int i = 0; keep && i < SETTINGS; i++)
        if (p->drivers->only(&p->list, keep, i, p->setting[i], sizeof p->setting[i]))
            changes[count++] = p->setting[i];
    am_child_run(arguments, changes, p->seconds, out);
}

static bool is_sound(const am_child *child) {
    return child->end == AM_CHILD_EXITED && child->code == 0 && strstr(child->tail, END_MARK);
}

/* Why there are no devices, up to the end of the text; NULL if there are. */
static const char *lack_of_devices(const am_child *child) {
    const char *at = strstr(child->tail, NONE_MARK);
    return at ? at + strlen(NONE_MARK) : NULL;
}

/* A helper that does not even start says nothing about drivers. */
static bool has_begun(const am_child *child) {
    return child->end != AM_CHILD_NONE && strstr(child->head, BEGIN_MARK);
}

/* ---------------------------------------------------------------- telling what is wrong */

static void name_crash(int code, char *out, size_t size) {
    static const struct {
        int code;
        const char *name;
    } signals[] = {{SIGSEGV, "SIGSEGV"},
                   {SIGABRT, "SIGABRT"},
                   {SIGILL, "SIGILL"},
                   {SIGFPE, "SIGFPE"},
#ifdef SIGBUS
                   {SIGBUS, "SIGBUS"}
#endif
    };
    const char *name = "signal";
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        if (signals[i].code == code) name = signals[i].name;
    if (code < 0) /* Windows: 0xc0000005 and its like */
        snprintf(out, size, "exception 0x%x", (unsigned)code);
    else
        snprintf(out, size, "%s %d", name, code);
}

/* The last line that was printed before the end: what an abort says of its reason. */
static void last_words(const am_child *child, char *out, size_t size) {
    char text[sizeof child->tail];
    char *line, *last = NULL;
    memcpy(text, child->tail, sizeof text);
    for (line = strtok(text, "\r\n"); line; line = strtok(NULL, "\r\n"))
        if (*line && strncmp(line, BEGIN_MARK, strlen(BEGIN_MARK)) != 0) last = line;
    out[0] = '\0';
    if (!last) return;
    for (char *at = last; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 127) *at = ' ';
    snprintf(out, size, "; its last words: %.150s", last);
}

static void describe(const probe *p, const am_child *child, char *out, size_t size) {
    char words[200], crash[32];
    last_words(child, words, sizeof words);
    name_crash(child->code, crash, sizeof crash);
    if (child->end == AM_CHILD_CRASHED)
        snprintf(out, size, "crashes (%s%s)", crash, words);
    else if (child->end == AM_CHILD_LATE)
        snprintf(out, size, "does not answer within %u s", (unsigned)p->seconds);
    else
        snprintf(out, size, "ends the process (status %d%s)", child->code, words);
}

static void append(char *text, size_t size, const char *more) {
    const size_t used = strlen(text);
    snprintf(text + used, size - used, "%s", more);
}

/* Runs each driver alone: which fail, and are named, and which work. How many fail. */
static size_t try_each(probe *p) {
    size_t bad = 0, i;
    p->named[0] = '\0';
    p->working = 0;
    for (i = 0; i < p->list.count; i++) {
        char text[256];
        am_child alone = p->child;
        if (p->list.count > 1) {
            memset(p->keep, 0, sizeof p->keep);
            p->keep[i] = true;
            run_helper(p, p->keep, &alone);
        }
        p->works[i] = is_sound(&alone) && !lack_of_devices(&alone);
        if (p->works[i]) p->working++;
        if (is_sound(&alone) || !has_begun(&alone)) continue;
        describe(p, &alone, text, sizeof text);
        append(p->named, sizeof p->named, bad++ ? ", " : "");
        append(p->named, sizeof p->named, p->list.item[i].file);
        append(p->named, sizeof p->named, " ");
        append(p->named, sizeof p->named, text);
    }
    return bad;
}

/* What to set for `most` of the drivers that work, unless that is longer than a message can be. */
static void append_advice(probe *p, size_t most, char *out, size_t size) {
    char skip[64];
    snprintf(skip, sizeof skip, "set ANYMAX_SKIP=%s", p->drivers->backend);
    for (size_t i = 0; i < p->list.count; i++) {
        p->keep[i] = p->works[i] && most > 0;
        if (p->keep[i]) most--;
    }
    if (p->list.count > 0) p->drivers->advice(&p->list, p->keep, p->advice, sizeof p->advice);
    if (p->list.count > 0 && strlen(out) + strlen(p->advice) < size)
        append(out, size, p->advice);
    else
        append(out, size, skip);
}

/* The helper did not come to its end. */
static void find_fault(probe *p, char *out, size_t size) {
    const size_t bad = try_each(p);
    char text[256];
    describe(p, &p->child, text, sizeof text);
    append(out, size, p->drivers->backend);
    if (bad > 0) {
        append(out, size, ": ");
        append(out, size, p->named);
        append(out, size, " when it is listed");
        append(out, size, p->after);
    } else {
        append(out, size, ": listing its devices ");
        append(out, size, text);
        if (p->list.count > 0) append(out, size, ", though each driver alone does no harm");
    }
    if (p->list.count > 0 && p->working == 0) {
        append(out, size, "; no other driver has devices");
        if (p->after[0]) append(out, size, "; ANYMAX_SKIP leaves one of the two alone");
        return;
    }
    append(out, size, bad || !p->working ? "; to go on without it, " : "; to go on with one, ");
    append_advice(p, bad ? p->working : 1, out, size);
}

/* The helper came to its end and found nothing: a driver may spoil it for the others. */
static bool find_spoiler(probe *p, char *out, size_t size) {
    if (p->list.count < 2 || !lack_of_devices(&p->child)) return false;
    try_each(p);
    if (p->working == 0) return false;
    append(out, size, lack_of_devices(&p->child));
    out[strcspn(out, "\r\n")] = '\0';
    append(out, size, ", as a driver spoils it for others; to go on with what works, ");
    append_advice(p, p->working, out, size);
    return true;
}

/* ---------------------------------------------------------------- remembering */

/* In the cache: "sound", or "bad", the time in seconds, and the message. */
static bool recall(verdict *v) {
    char text[TEXT_BYTES + 64];
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
    char text[TEXT_BYTES + 64] = "sound";
    if (v->bad) snprintf(text, sizeof text, "bad %lld\n%s", (long long)time(NULL), v->message);
    am_cache_write(v->key.name, text, strlen(text));
}

/* ---------------------------------------------------------------- the probe */

/* False: the helper does not work, so that nothing is known. */
static bool try_drivers(probe *p, verdict *v) {
    const uint64_t start = am_time_ns();
    run_helper(p, NULL, &p->child);
    if (!has_begun(&p->child)) return false;
    if (is_sound(&p->child)) {
        v->bad = find_spoiler(p, v->message, sizeof v->message);
    } else {
        v->bad = true;
        find_fault(p, v->message, sizeof v->message);
    }
    snprintf(v->how, sizeof v->how, "in a child process, %u ms",
             (unsigned)((am_time_ns() - start) / 1000000));
    return true;
}

static void decide(probe *p, verdict *v, bool cache) {
    const am_cache_key key = am_probe_key(&p->list, p->drivers, p->helper, p->before);
    if (v->backend && strcmp(v->key.name, key.name) == 0) return;
    memset(v, 0, sizeof *v);
    v->backend = p->drivers->backend;
    v->key = key;
    if (cache && recall(v)) return;
    if (!try_drivers(p, v)) {
        snprintf(v->how, sizeof v->how, "not probed: anymax-probe does not run");
        return;
    }
    p->fresh = true;
    if (cache) remember(v);
}

/* The verdict of this backend, or room for it; notes what was loaded before it. */
static verdict *find_verdict(probe *p) {
    verdict *v = known.of;
    for (; v < known.of + BACKENDS - 1 && v->backend; v++) {
        if (strcmp(v->backend, p->drivers->backend) == 0) break;
        if (v->bad) continue;
        append(p->chain, sizeof p->chain, v->backend);
        append(p->chain, sizeof p->chain, ",");
        append(p->after, sizeof p->after, p->after[0] ? " and " : " after ");
        append(p->after, sizeof p->after, v->backend);
        append(p->before, sizeof p->before, v->key.name);
    }
    append(p->chain, sizeof p->chain, p->drivers->backend);
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
    p->drivers = drivers;
    p->seconds = limit_seconds();
    if (!find_helper(p->helper, sizeof p->helper, &why_not)) {
        snprintf(how, size, "%s", why_not);
        am_free(p);
        return ANYMAX_OK;
    }
    drivers->list(&p->list);
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
