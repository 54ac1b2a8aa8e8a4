/* What the C standard lacks: threads, time, dynamic loading, environment, files of the cache.
 * One place for system calls; os_posix.c and os_windows.c implement it. */
#ifndef AM_OS_H
#define AM_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A thread-safe one-time call, a mutex and a condition. All may be zero-initialised statically. */
typedef struct am_mutex {
    void *impl[8];
} am_mutex;
typedef struct am_condition {
    void *impl[8];
} am_condition;
typedef struct am_thread {
    void *impl[2];
} am_thread;

bool am_mutex_init(am_mutex *mutex);
void am_mutex_destroy(am_mutex *mutex);
void am_mutex_lock(am_mutex *mutex);
void am_mutex_unlock(am_mutex *mutex);
bool am_condition_init(am_condition *condition);
void am_condition_destroy(am_condition *condition);
void am_condition_wait(am_condition *condition, am_mutex *mutex);
void am_condition_broadcast(am_condition *condition);
bool am_thread_start(am_thread *thread, void (*run)(void *), void *argument);
void am_thread_join(am_thread *thread);
/* Lets another thread that is ready have the processor. */
void am_thread_yield(void);

/* Processors this process may run on, at least 1. */
uint32_t am_cpu_count(void);
/* Memory of the machine; 0 if that is unknown. */
uint64_t am_memory_bytes(void);
uint64_t am_time_ns(void);

/* Shared libraries: NULL when absent. `am_library_path` writes where it was found, or its name. */
void *am_library_open(const char *name);
void *am_library_symbol(void *library, const char *name);
void am_library_path(void *symbol_address, const char *fallback, char *out, size_t size);

/* Host memory, through one hook: tests make the n-th allocation fail. Free accepts NULL. */
void *am_alloc(size_t size_bytes);
void *am_alloc_zero(size_t count, size_t size_bytes);
void *am_alloc_aligned(size_t alignment, size_t size_bytes);
void am_free(void *memory);
void am_free_aligned(void *memory);
/* For tests: the n-th allocation from now fails, once; 0: none does. Returns what was left of the
 * number before: 0 if that allocation has failed. */
long am_alloc_fail_at(long n);

/* What the cache needs of the platform: its own folder for files that can be made again (false if
 * there is none), a folder with those above it, a rename that replaces, a file for reading (NULL,
 * and *odd if what is there is no plain file, such as a pipe, which could be waited at for ever),
 * the seconds since a file was changed (0 if that is unknown), the number of the process. */
bool am_cache_home(char *out, size_t size);
bool am_make_folders(const char *path);
bool am_replace_file(const char *from, const char *to);
FILE *am_open_plain_file(const char *path, bool *odd);
int64_t am_file_age(const char *path);
unsigned long am_process_id(void);

/* The cache: one file for a key below $XDG_CACHE_HOME/anymax (or ~/.cache/anymax, or the platform's
 * own place); docs/robustness.md tells what may happen to it. A key is a file name of letters and
 * digits; it is made of all that the contents depend on, and of the library's version and the width
 * of its pointers, which are always part of it.
 * Reading returns an am_alloc'ed block, or NULL for absent or damaged (a header with key, length
 * and checksum is written and checked here). A damaged file is rejected: logged and removed; a
 * backend does the same with one that its driver does not take. Writing is atomic (temporary file
 * and rename) and never fails loudly. */
typedef struct am_cache_part {
    const void *data;
    size_t size;
} am_cache_part;
typedef struct am_cache_key {
    char name[48];
} am_cache_key;
am_cache_key am_cache_key_make(const char *prefix, const am_cache_part *parts, size_t count);
void *am_cache_read(const char *key, size_t *out_size);
void am_cache_reject(const char *key, const char *wrong); /* wrong: "is damaged" */
void am_cache_write(const char *key, const void *data, size_t size);
uint64_t am_hash(uint64_t seed, const void *data, size_t size);

/* For the probe of drivers (probe.h). What changes when a file or folder does: its size and the
 * time of its last change; false if it is not there. */
bool am_file_stamp(const char *path, uint64_t out_stamp[2]);
/* Calls `visit` with the name of each entry of a folder, in any order; false if it is no folder. */
bool am_folder_visit(const char *path, void (*visit)(void *user, const char *name), void *user);
/* The environment of this process: "NAME=value" each, then NULL. */
char *const *am_environment(void);

typedef enum am_child_end {
    AM_CHILD_NONE,    /* not started, or this platform has no child processes */
    AM_CHILD_EXITED,  /* `code` is its exit status; 0 too where the host took the status away */
    AM_CHILD_CRASHED, /* `code` is the signal or the exception */
    AM_CHILD_LATE     /* it took longer than it may, and was killed */
} am_child_end;

typedef struct am_child {
    am_child_end end;
    int code;
    char head[64], tail[1024]; /* the beginning and the end of what it printed */
} am_child;

/* Runs arguments[0], an absolute path, in a new process, for `seconds` at most. `arguments` and
 * `changes` end with NULL; a change "NAME=value" sets a variable for the child, "NAME" removes it.
 */
void am_child_run(const char *const *arguments, const char *const *changes, uint32_t seconds,
                  am_child *out);
/* Called by the child itself: a crash leaves no core file and opens no dialog, and it ends a second
 * after the limit even if its parent is gone. */
void am_child_limits(uint32_t seconds);

/* Overflow-checked size arithmetic: false when the result does not fit. */
static inline bool am_mul(size_t a, size_t b, size_t *out) {
    if (b != 0 && a > SIZE_MAX / b) return false;
    *out = a * b;
    return true;
}

#endif
