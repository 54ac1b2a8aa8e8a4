/* System calls on POSIX systems: threads, time, shared libraries, folders. Nothing else here. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* sched_getaffinity, dladdr */
#elif defined(__APPLE__) && !defined(_DARWIN_C_SOURCE)
#define _DARWIN_C_SOURCE
#endif
#include "os.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static_assert(sizeof(pthread_mutex_t) <= sizeof(am_mutex), "am_mutex is too small");
static_assert(sizeof(pthread_cond_t) <= sizeof(am_condition), "am_condition is too small");

#ifdef __APPLE__
/* The only common system whose initialisers are not all zero: a zeroed object is made a valid one
 * at first use. */
static void make_valid(void *object, size_t size, const void *fresh, size_t fresh_size) {
    static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
    static const am_mutex zero;
    pthread_mutex_lock(&guard);
    if (memcmp(object, &zero, size) == 0) memcpy(object, fresh, fresh_size);
    pthread_mutex_unlock(&guard);
}
#endif

static pthread_mutex_t *mutex_of(am_mutex *mutex) {
#ifdef __APPLE__
    const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    make_valid(mutex, sizeof *mutex, &fresh, sizeof fresh);
#endif
    return (pthread_mutex_t *)(void *)mutex;
}

static pthread_cond_t *condition_of(am_condition *condition) {
#ifdef __APPLE__
    const pthread_cond_t fresh = PTHREAD_COND_INITIALIZER;
    make_valid(condition, sizeof *condition, &fresh, sizeof fresh);
#endif
    return (pthread_cond_t *)(void *)condition;
}

bool am_mutex_init(am_mutex *mutex) {
    memset(mutex, 0, sizeof *mutex);
    return pthread_mutex_init((pthread_mutex_t *)(void *)mutex, NULL) == 0;
}

void am_mutex_destroy(am_mutex *mutex) {
    pthread_mutex_destroy(mutex_of(mutex));
}

void am_mutex_lock(am_mutex *mutex) {
    pthread_mutex_lock(mutex_of(mutex));
}

void am_mutex_unlock(am_mutex *mutex) {
    pthread_mutex_unlock(mutex_of(mutex));
}

bool am_condition_init(am_condition *condition) {
    memset(condition, 0, sizeof *condition);
    return pthread_cond_init((pthread_cond_t *)(void *)condition, NULL) == 0;
}

void am_condition_destroy(am_condition *condition) {
    pthread_cond_destroy(condition_of(condition));
}

void am_condition_wait(am_condition *condition, am_mutex *mutex) {
    pthread_cond_wait(condition_of(condition), mutex_of(mutex));
}

void am_condition_broadcast(am_condition *condition) {
    pthread_cond_broadcast(condition_of(condition));
}

/* ---------------------------------------------------------------- threads */

typedef struct start {
    pthread_t id;
    void (*run)(void *);
    void *argument;
} start;

static void *thread_main(void *argument) {
    start *s = argument;
    s->run(s->argument);
    return NULL;
}

bool am_thread_start(am_thread *thread, void (*run)(void *), void *argument) {
    start *s = am_alloc(sizeof *s);
    thread->impl[0] = NULL;
    if (!s) return false;
    s->run = run;
    s->argument = argument;
    if (pthread_create(&s->id, NULL, thread_main, s) != 0) {
        am_free(s);
        return false;
    }
    thread->impl[0] = s;
    return true;
}

void am_thread_join(am_thread *thread) {
    start *s = thread->impl[0];
    if (!s) return;
    pthread_join(s->id, NULL);
    am_free(s);
    thread->impl[0] = NULL;
}

void am_thread_yield(void) {
    sched_yield();
}

uint32_t am_cpu_count(void) {
    long count;
#ifdef __linux__
    /* A container or taskset may leave fewer than the machine has. */
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (uint32_t)CPU_COUNT(&set);
#endif
    count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (uint32_t)count : 1;
}

uint64_t am_memory_bytes(void) {
#ifdef _SC_PHYS_PAGES
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0) return (uint64_t)pages * (uint64_t)page;
#endif
    return 0;
}

uint64_t am_time_ns(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) return 0;
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---------------------------------------------------------------- shared libraries */

void *am_library_open(const char *name) {
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

void *am_library_symbol(void *library, const char *name) {
    return dlsym(library, name);
}

void am_library_path(void *symbol_address, const char *fallback, char *out, size_t size) {
    const char *path = fallback;
#if defined(__linux__) || defined(__APPLE__)
    Dl_info info;
    if (symbol_address && dladdr(symbol_address, &info) && info.dli_fname) path = info.dli_fname;
#else
    (void)symbol_address;
#endif
    snprintf(out, size, "%s", path);
}

/* ---------------------------------------------------------------- folders */

bool am_cache_home(char *out, size_t size) {
    const char *base = getenv("XDG_CACHE_HOME");
    const char *below = "";
    int length;
    /* The XDG base directory specification: a relative path is to be ignored. */
    if (!base || base[0] != '/') {
        base = getenv("HOME");
        if (!base || base[0] != '/') return false;
#ifdef __APPLE__
        below = "/Library/Caches";
#else
        below = "/.cache";
#endif
    }
    length = snprintf(out, size, "%s%s", base, below);
    return length > 0 && (size_t)length < size;
}

static bool make_folder(const char *path) {
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

bool am_make_folders(const char *path) {
    char part[4096];
    size_t length = strlen(path), i;
    if (length == 0 || length >= sizeof part) return false;
    memcpy(part, path, length + 1);
    /* A folder above that cannot be made may exist all the same (read-only roots): the last counts.
     */
    for (i = 1; i < length; i++) {
        if (part[i] != '/') continue;
        part[i] = '\0';
        (void)make_folder(part);
        part[i] = '/';
    }
    return make_folder(part);
}

bool am_replace_file(const char *from, const char *to) {
    return rename(from, to) == 0;
}

FILE *am_open_plain_file(const char *path, bool *odd) {
    struct stat about;
    FILE *file = NULL;
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    /* A socket cannot be opened at all. */
    *odd = descriptor < 0 && errno == ENXIO;
    if (descriptor < 0) return NULL;
    if (fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode))
        file = fdopen(descriptor, "rb");
    else
        *odd = true;
    if (!file) close(descriptor);
    return file;
}

int64_t am_file_age(const char *path) {
    struct stat about;
    return lstat(path, &about) == 0 ? (int64_t)time(NULL) - (int64_t)about.st_mtime : 0;
}

unsigned long am_process_id(void) {
    return (unsigned long)getpid();
}
