/* System calls on POSIX systems for the probe of drivers: child processes, what changes of files,
 * folders, the environment. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* pipe2, addclosefrom */
#elif defined(__APPLE__) && !defined(_DARWIN_C_SOURCE)
#define _DARWIN_C_SOURCE
#endif
#include "os.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __APPLE__
#include <TargetConditionals.h>
#include <crt_externs.h>
#endif

/* Apps on Android, iOS and their kin may not start programs. */
#if !defined(__ANDROID__) && !(defined(__APPLE__) && TARGET_OS_IPHONE)
#define CAN_SPAWN 1
#include <spawn.h>
#endif

#ifndef __APPLE__
extern char **environ;
#endif

/* ---------------------------------------------------------------- files, environment */

bool am_file_stamp(const char *path, uint64_t out_stamp[2]) {
    struct stat facts;
    if (stat(path, &facts) != 0) return false;
    out_stamp[0] = (uint64_t)facts.st_size;
#if defined(__APPLE__)
    out_stamp[1] =
        (uint64_t)facts.st_mtimespec.tv_sec * 1000000000u + (uint64_t)facts.st_mtimespec.tv_nsec;
#else
    out_stamp[1] = (uint64_t)facts.st_mtim.tv_sec * 1000000000u + (uint64_t)facts.st_mtim.tv_nsec;
#endif
    return true;
}

bool am_folder_visit(const char *path, void (*visit)(void *user, const char *name), void *user) {
    DIR *folder = opendir(path);
    struct dirent *entry;
    if (!folder) return false;
    while ((entry = readdir(folder)) != NULL) visit(user, entry->d_name);
    closedir(folder);
    return true;
}

char *const *am_environment(void) {
#ifdef __APPLE__
    return *_NSGetEnviron(); /* a shared library does not see `environ` */
#else
    return environ;
#endif
}

/* ---------------------------------------------------------------- processes */

#ifdef CAN_SPAWN

typedef struct run {
    pid_t id;
    int output; /* read end; -1 at the end of it */
    int status; /* of waitpid */
    bool lost;  /* someone else in this process waited for the child */
    bool started;
    bool late;
} run;

/* The environment with the changes; the strings are not copied. am_free it. */
static char **changed_environment(const char *const *changes) {
    char *const *old = am_environment();
    size_t count = 0, more = 0, used = 0, i, j;
    char **out;
    while (old && old[count]) count++;
    while (changes[more]) more++;
    out = am_alloc((count + more + 1) * sizeof *out);
    if (!out) return NULL;
    for (i = 0; i < count; i++) {
        for (j = 0; j < more; j++) {
            const size_t length = strcspn(changes[j], "=");
            if (strncmp(old[i], changes[j], length) == 0 && old[i][length] == '=') break;
        }
        if (j == more) out[used++] = old[i];
    }
    for (j = 0; j < more; j++)
        if (strchr(changes[j], '=')) out[used++] = (char *)(uintptr_t)changes[j];
    out[used] = NULL;
    return out;
}

/* Both ends above the standard descriptors, which the host may have closed, and not inherited. */
static bool open_pipe(int ends[2]) {
    int low[2], i;
    if (pipe(low) != 0) return false;
    for (i = 0; i < 2; i++) {
        ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, 3);
        close(low[i]);
    }
    if (ends[0] >= 0 && ends[1] >= 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0) return true;
    for (i = 0; i < 2; i++)
        if (ends[i] >= 0) close(ends[i]);
    return false;
}

static bool set_attributes(posix_spawnattr_t *attributes) {
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    sigset_t none, most;
    sigemptyset(&none);
    /* What a host may ignore or block, but a crash or an alarm is told by. */
    sigemptyset(&most);
    sigaddset(&most, SIGPIPE);
    sigaddset(&most, SIGALRM);
    sigaddset(&most, SIGABRT);
    sigaddset(&most, SIGTERM);
    sigaddset(&most, SIGINT);
#ifdef __APPLE__
    flags |= POSIX_SPAWN_CLOEXEC_DEFAULT;
#endif
    return posix_spawnattr_setsigmask(attributes, &none) == 0 &&
           posix_spawnattr_setsigdefault(attributes, &most) == 0 &&
           posix_spawnattr_setflags(attributes, flags) == 0;
}

static bool set_actions(posix_spawn_file_actions_t *actions, int output) {
    bool good = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0) == 0 &&
                posix_spawn_file_actions_adddup2(actions, output, 1) == 0 &&
                posix_spawn_file_actions_adddup2(actions, output, 2) == 0;
#ifdef __GLIBC_PREREQ
#if __GLIBC_PREREQ(2, 34)
    /* Sockets of the host must not stay open in a driver that hangs. */
    good = good && posix_spawn_file_actions_addclosefrom_np(actions, 3) == 0;
#endif
#endif
    return good;
}

/* posix_spawn, since a process with threads or with a GPU open must not go on after a fork. */
static void start(run *r, const char *const *arguments, const char *const *changes) {
    char **environment = changed_environment(changes);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int ends[2];
    if (!environment) return;
    if (open_pipe(ends)) {
        if (posix_spawn_file_actions_init(&actions) == 0) {
            if (posix_spawnattr_init(&attributes) == 0) {
                r->started = set_attributes(&attributes) && set_actions(&actions, ends[1]) &&
                             posix_spawn(&r->id, arguments[0], &actions, &attributes,
                                         (char **)(uintptr_t)arguments, environment) == 0;
                posix_spawnattr_destroy(&attributes);
            }
            posix_spawn_file_actions_destroy(&actions);
        }
        close(ends[1]);
        r->output = ends[0];
        if (!r->started) close(ends[0]);
    }
    am_free(environment);
}

static void keep_output(am_child *out, const char *text, size_t length) {
    const size_t room = sizeof out->tail - 1;
    size_t had = strlen(out->tail), head = strlen(out->head), i;
    for (i = 0; i < length && head < sizeof out->head - 1; i++)
        out->head[head++] = text[i] ? text[i] : ' ';
    if (length > room) {
        text += length - room;
        length = room;
    }
    if (had + length > room) {
        const size_t drop = had + length - room;
        memmove(out->tail, out->tail + drop, had - drop + 1);
        had -= drop;
    }
    for (i = 0; i < length; i++) out->tail[had + i] = text[i] ? text[i] : ' ';
    out->tail[had + length] = '\0';
}

/* Waits up to `ms` for output, and takes what there is. */
static void take_output(run *r, am_child *out, int ms) {
    struct pollfd wait = {.fd = r->output, .events = POLLIN};
    char text[512];
    ssize_t got;
    poll(&wait, 1, ms);
    if (r->output < 0) return;
    while ((got = read(r->output, text, sizeof text)) > 0) keep_output(out, text, (size_t)got);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
    close(r->output);
    r->output = -1;
}

static bool ended(run *r) {
    const pid_t got = waitpid(r->id, &r->status, WNOHANG);
    /* A host that ignores SIGCHLD, or waits for any child, takes the status away. */
    r->lost = got < 0 && errno == ECHILD;
    return got == r->id || r->lost;
}

/* Not by the end of the output: what the child started may keep that open. */
static void wait_for(run *r, am_child *out, uint32_t seconds) {
    uint64_t until;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    until = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000 + seconds * 1000ull;
    while (!ended(r)) {
        take_output(r, out, 1);
        clock_gettime(CLOCK_MONOTONIC, &now);
        if ((uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000 < until) continue;
        if (r->late) break; /* stuck in the kernel: it cannot be waited for */
        r->late = true;
        until += 1000;
        kill(r->id, SIGKILL);
    }
    take_output(r, out, 0);
    if (r->output >= 0) close(r->output);
}

void am_child_run(const char *const *arguments, const char *const *changes, uint32_t seconds,
                  am_child *out) {
    run r = {.output = -1};
    memset(out, 0, sizeof *out);
    start(&r, arguments, changes);
    if (!r.started) return;
    wait_for(&r, out, seconds);
    if (r.late) {
        out->end = AM_CHILD_LATE;
    } else if (!r.lost && WIFSIGNALED(r.status)) {
        out->end = AM_CHILD_CRASHED;
        out->code = WTERMSIG(r.status);
    } else {
        out->end = AM_CHILD_EXITED;
        out->code = r.lost ? 0 : WEXITSTATUS(r.status);
    }
}

#else

void am_child_run(const char *const *arguments, const char *const *changes, uint32_t seconds,
                  am_child *out) {
    (void)arguments;
    (void)changes;
    (void)seconds;
    memset(out, 0, sizeof *out);
}

#endif
