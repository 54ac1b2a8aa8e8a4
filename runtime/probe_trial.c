/* One trial of a backend's drivers: the helper runs, and if it fails, what is at fault. */
#include "probe_trial.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define BEGIN_MARK "anymax-probe: begin"
#define END_MARK "anymax-probe: end"
#define NONE_MARK "anymax-probe: end without devices; "

void am_text_add(char *text, size_t size, const char *more) {
    const size_t used = strlen(text);
    snprintf(text + used, size - used, "%s", more);
}

/* ---------------------------------------------------------------- running the helper */

/* With the drivers of `keep` alone, or all; with a variable more, or NULL. */
static void run_helper(am_trial *t, const bool *keep, const char *more, am_child *out) {
    char seconds[16];
    const char *const arguments[] = {t->helper, t->chain, seconds, NULL};
    /* The helper must not probe in its turn. */
    const char *changes[AM_TRIAL_SETTINGS + 3] = {"ANYMAX_PROBE=off"};
    int count = 1;
    snprintf(seconds, sizeof seconds, "%u", (unsigned)t->seconds);
    for (int i = 0; keep && i < AM_TRIAL_SETTINGS; i++)
        if (t->drivers->only(&t->list, keep, i, t->setting[i], sizeof t->setting[i]))
            changes[count++] = t->setting[i];
    changes[count] = more;
    am_child_run(arguments, changes, t->seconds, out);
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
    const char *at = child->tail, *last = NULL;
    size_t length = 0, used;
    while (*at) {
        const size_t line = strcspn(at, "\r\n");
        if (line > 0 && strncmp(at, BEGIN_MARK, strlen(BEGIN_MARK)) != 0) {
            last = at;
            length = line < 150 ? line : 150;
        }
        at += line + (at[line] != '\0');
    }
    out[0] = '\0';
    if (!last) return;
    used = (size_t)snprintf(out, size, "; its last words: ");
    for (; length > 0 && used + 1 < size; length--, last++)
        out[used++] = (unsigned char)*last < ' ' || *last == 127 ? ' ' : *last;
    out[used] = '\0';
}

static void describe(const am_trial *t, const am_child *child, char *out, size_t size) {
    char words[200], crash[32];
    last_words(child, words, sizeof words);
    name_crash(child->code, crash, sizeof crash);
    if (child->end == AM_CHILD_CRASHED)
        snprintf(out, size, "crashes (%s%s)", crash, words);
    else if (child->end == AM_CHILD_LATE)
        snprintf(out, size, "does not answer within %u s", (unsigned)t->seconds);
    else
        snprintf(out, size, "ends the process (status %d%s)", child->code, words);
}

/* Runs each driver alone: which fail, and are named, and which work. How many fail. */
static size_t try_each(am_trial *t) {
    size_t bad = 0, i;
    t->named[0] = '\0';
    t->working = 0;
    for (i = 0; i < t->list.count; i++) {
        char text[256];
        am_child alone = t->child;
        if (t->list.count > 1) {
            memset(t->keep, 0, sizeof t->keep);
            t->keep[i] = true;
            run_helper(t, t->keep, NULL, &alone);
        }
        t->works[i] = is_sound(&alone) && !lack_of_devices(&alone);
        if (t->works[i]) t->working++;
        if (is_sound(&alone) || !has_begun(&alone)) continue;
        describe(t, &alone, text, sizeof text);
        am_text_add(t->named, sizeof t->named, bad++ ? ", " : "");
        am_text_add(t->named, sizeof t->named, t->list.item[i].file);
        am_text_add(t->named, sizeof t->named, " ");
        am_text_add(t->named, sizeof t->named, text);
    }
    return bad;
}

/* What to set for `most` of the drivers that work, unless that is longer than a message can be. */
static void append_advice(am_trial *t, size_t most, char *out, size_t size) {
    char skip[64];
    snprintf(skip, sizeof skip, "set ANYMAX_SKIP=%s", t->drivers->backend);
    for (size_t i = 0; i < t->list.count; i++) {
        t->keep[i] = t->works[i] && most > 0;
        if (t->keep[i]) most--;
    }
    if (t->list.count > 0) t->drivers->advice(&t->list, t->keep, t->advice, sizeof t->advice);
    if (t->list.count > 0 && strlen(out) + strlen(t->advice) < size)
        am_text_add(out, size, t->advice);
    else
        am_text_add(out, size, skip);
}

/* Where no driver works: whether layers are at fault, which the loader adds to every program. */
static bool find_layer(am_trial *t, char *out, size_t size) {
    char text[256];
    am_child without;
    if (!t->drivers->no_layers || !t->list.watched) return false;
    run_helper(t, NULL, t->drivers->no_layers, &without);
    if (!is_sound(&without)) return false;
    describe(t, &t->child, text, sizeof text);
    am_text_add(out, size, t->drivers->backend);
    am_text_add(out, size, ": listing its devices ");
    am_text_add(out, size, text);
    am_text_add(out, size, " by a layer that is added to every program; to go on without, set ");
    am_text_add(out, size, t->drivers->no_layers);
    return true;
}

/* The helper did not come to its end. */
static void find_fault(am_trial *t, char *out, size_t size) {
    const size_t bad = try_each(t);
    char text[256];
    if (t->working == 0 && find_layer(t, out, size)) return;
    describe(t, &t->child, text, sizeof text);
    am_text_add(out, size, t->drivers->backend);
    if (bad > 0) {
        am_text_add(out, size, ": ");
        am_text_add(out, size, t->named);
        am_text_add(out, size, " when it is listed");
        am_text_add(out, size, t->after);
    } else {
        am_text_add(out, size, ": listing its devices ");
        am_text_add(out, size, text);
        if (t->list.count > 0) am_text_add(out, size, ", though each driver alone does no harm");
    }
    if (t->list.count > 0 && t->working == 0) {
        am_text_add(out, size, "; no other driver has devices");
        if (t->after[0]) am_text_add(out, size, "; ANYMAX_SKIP leaves one of the two alone");
        return;
    }
    am_text_add(out, size,
                bad || !t->working ? "; to go on without it, " : "; to go on with one, ");
    append_advice(t, bad ? t->working : 1, out, size);
}

/* The helper came to its end and found nothing: a driver may spoil it for the others. */
static bool find_spoiler(am_trial *t, char *out, size_t size) {
    if (t->list.count < 2 || !lack_of_devices(&t->child)) return false;
    try_each(t);
    if (t->working == 0) return false;
    am_text_add(out, size, lack_of_devices(&t->child));
    out[strcspn(out, "\r\n")] = '\0';
    am_text_add(out, size, ", as a driver spoils it for others; to go on with what works, ");
    append_advice(t, t->working, out, size);
    return true;
}

bool am_trial_run(am_trial *t, char *message) {
    const size_t size = AM_TRIAL_MESSAGE_BYTES;
    message[0] = '\0';
    run_helper(t, NULL, NULL, &t->child);
    if (!has_begun(&t->child)) return false;
    if (is_sound(&t->child))
        find_spoiler(t, message, size);
    else
        find_fault(t, message, size);
    return true;
}
