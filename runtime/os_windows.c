/* System calls on Windows: threads, time, shared libraries, folders. Nothing else here. */
#define WIN32_LEAN_AND_MEAN
#ifndef _WIN32_WINNT
#define _WIN32_WINNT 0x0601
#endif
#include "os.h"

#include <assert.h>
#include <windows.h>
#include <process.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static_assert(sizeof(SRWLOCK) <= sizeof(am_mutex), "am_mutex is too small");
static_assert(sizeof(CONDITION_VARIABLE) <= sizeof(am_condition), "am_condition is too small");

/* Both are all zero when initialised statically, and need no destruction. */
static SRWLOCK *lock_of(am_mutex *mutex) {
    return (SRWLOCK *)(void *)mutex;
}

static CONDITION_VARIABLE *variable_of(am_condition *condition) {
    return (CONDITION_VARIABLE *)(void *)condition;
}

bool am_mutex_init(am_mutex *mutex) {
    memset(mutex, 0, sizeof *mutex);
    InitializeSRWLock(lock_of(mutex));
    return true;
}

void am_mutex_destroy(am_mutex *mutex) {
    (void)mutex;
}

void am_mutex_lock(am_mutex *mutex) {
    AcquireSRWLockExclusive(lock_of(mutex));
}

void am_mutex_unlock(am_mutex *mutex) {
    ReleaseSRWLockExclusive(lock_of(mutex));
}

bool am_condition_init(am_condition *condition) {
    memset(condition, 0, sizeof *condition);
    InitializeConditionVariable(variable_of(condition));
    return true;
}

void am_condition_destroy(am_condition *condition) {
    (void)condition;
}

void am_condition_wait(am_condition *condition, am_mutex *mutex) {
    SleepConditionVariableSRW(variable_of(condition), lock_of(mutex), INFINITE, 0);
}

void am_condition_broadcast(am_condition *condition) {
    WakeAllConditionVariable(variable_of(condition));
}

/* ---------------------------------------------------------------- threads */

typedef struct start {
    HANDLE handle;
    void (*run)(void *);
    void *argument;
} start;

static unsigned __stdcall thread_main(void *argument) {
    start *s = argument;
    s->run(s->argument);
    return 0;
}

bool am_thread_start(am_thread *thread, void (*run)(void *), void *argument) {
    start *s = am_alloc(sizeof *s);
    thread->impl[0] = NULL;
    if (!s) return false;
    s->run = run;
    s->argument = argument;
    s->handle = (HANDLE)_beginthreadex(NULL, 0, thread_main, s, 0, NULL);
    if (!s->handle) {
        am_free(s);
        return false;
    }
    thread->impl[0] = s;
    return true;
}

void am_thread_join(am_thread *thread) {
    start *s = thread->impl[0];
    if (!s) return;
    WaitForSingleObject(s->handle, INFINITE);
    CloseHandle(s->handle);
    am_free(s);
    thread->impl[0] = NULL;
}

void am_thread_yield(void) {
    SwitchToThread();
}

uint32_t am_cpu_count(void) {
    DWORD_PTR process = 0, machine = 0;
    DWORD count = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
    /* Masks cover the 64 processors of one group; they matter where the process is held to some. */
    if (GetProcessAffinityMask(GetCurrentProcess(), &process, &machine) && process != machine) {
        for (count = 0; process; process &= process - 1) count++;
    }
    return count > 0 ? (uint32_t)count : 1;
}

uint64_t am_memory_bytes(void) {
    MEMORYSTATUSEX status = {.dwLength = sizeof status};
    return GlobalMemoryStatusEx(&status) ? status.ullTotalPhys : 0;
}

uint64_t am_time_ns(void) {
    LARGE_INTEGER frequency, now;
    uint64_t whole, rest;
    QueryPerformanceFrequency(&frequency);
    QueryPerformanceCounter(&now);
    whole = (uint64_t)now.QuadPart / (uint64_t)frequency.QuadPart;
    rest = (uint64_t)now.QuadPart % (uint64_t)frequency.QuadPart;
    return whole * 1000000000u + rest * 1000000000u / (uint64_t)frequency.QuadPart;
}

/* ---------------------------------------------------------------- shared libraries */

void *am_library_open(const char *name) {
    /* Not from the current folder, which anyone may have filled. */
    return (void *)LoadLibraryExA(name, NULL, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
}

void *am_library_symbol(void *library, const char *name) {
    FARPROC found = GetProcAddress((HMODULE)library, name);
    void *symbol;
    static_assert(sizeof found == sizeof symbol, "pointers to functions fit a void *");
    memcpy(&symbol, &found, sizeof symbol);
    return symbol;
}

void am_library_path(void *symbol_address, const char *fallback, char *out, size_t size) {
    HMODULE module = NULL;
    const DWORD how =
        GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
    DWORD length = 0;
    if (symbol_address && GetModuleHandleExA(how, (LPCSTR)symbol_address, &module))
        length = GetModuleFileNameA(module, out, (DWORD)size);
    if (length == 0 || length >= size) snprintf(out, size, "%s", fallback);
}

/* ---------------------------------------------------------------- folders */

bool am_cache_home(char *out, size_t size) {
    const char *base = getenv("XDG_CACHE_HOME");
    int length;
    if (!base || !*base) base = getenv("LOCALAPPDATA");
    if (!base || !*base) return false;
    length = snprintf(out, size, "%s", base);
    return length > 0 && (size_t)length < size;
}

static bool make_folder(const char *path) {
    return CreateDirectoryA(path, NULL) || GetLastError() == ERROR_ALREADY_EXISTS;
}

bool am_make_folders(const char *path) {
    char part[4096];
    size_t length = strlen(path), i;
    if (length == 0 || length >= sizeof part) return false;
    memcpy(part, path, length + 1);
    /* A part that cannot be made may exist all the same (a drive): the last one counts. */
    for (i = 1; i < length; i++) {
        char separator = part[i];
        if (separator != '/' && separator != '\\') continue;
        part[i] = '\0';
        (void)make_folder(part);
        part[i] = separator;
    }
    return make_folder(part);
}

bool am_replace_file(const char *from, const char *to) {
    return MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING) != 0;
}

FILE *am_open_plain_file(const char *path, bool *odd) {
    const DWORD about = GetFileAttributesA(path);
    *odd = about != INVALID_FILE_ATTRIBUTES &&
           (about & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_DEVICE)) != 0;
    return *odd ? NULL : fopen(path, "rb");
}

int64_t am_file_age(const char *path) {
    WIN32_FILE_ATTRIBUTE_DATA about;
    FILETIME now;
    ULARGE_INTEGER then, today;
    if (!GetFileAttributesExA(path, GetFileExInfoStandard, &about)) return 0;
    GetSystemTimeAsFileTime(&now);
    then.LowPart = about.ftLastWriteTime.dwLowDateTime;
    then.HighPart = about.ftLastWriteTime.dwHighDateTime;
    today.LowPart = now.dwLowDateTime;
    today.HighPart = now.dwHighDateTime;
    return ((int64_t)today.QuadPart - (int64_t)then.QuadPart) / 10000000;
}

unsigned long am_process_id(void) {
    return (unsigned long)GetCurrentProcessId();
}
