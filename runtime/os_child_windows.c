/* System calls on Windows for the probe of drivers: child processes, what changes of files,
 * folders, the environment. */
#define WIN32_LEAN_AND_MEAN
#ifndef _WIN32_WINNT
#define _WIN32_WINNT 0x0601
#endif
#include "os.h"

#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- files, environment */

bool am_file_stamp(const char *path, uint64_t out_stamp[2]) {
    WIN32_FILE_ATTRIBUTE_DATA facts;
    if (!GetFileAttributesExA(path, GetFileExInfoStandard, &facts)) return false;
    out_stamp[0] = (uint64_t)facts.nFileSizeHigh << 32 | facts.nFileSizeLow;
    out_stamp[1] =
        (uint64_t)facts.ftLastWriteTime.dwHighDateTime << 32 | facts.ftLastWriteTime.dwLowDateTime;
    return true;
}

bool am_folder_visit(const char *path, void (*visit)(void *user, const char *name), void *user) {
    char pattern[MAX_PATH];
    WIN32_FIND_DATAA entry;
    HANDLE search;
    const int length = snprintf(pattern, sizeof pattern, "%s\\*", path);
    if (length < 0 || (size_t)length >= sizeof pattern) return false;
    search = FindFirstFileA(pattern, &entry);
    if (search == INVALID_HANDLE_VALUE) return false;
    do visit(user, entry.cFileName);
    while (FindNextFileA(search, &entry));
    FindClose(search);
    return true;
}

char *const *am_environment(void) {
    return _environ;
}

/* ---------------------------------------------------------------- processes */

static int by_name(const void *a, const void *b) {
    return _stricmp(*(char *const *)a, *(char *const *)b);
}

static bool is_changed(const char *entry, const char *const *changes) {
    for (; *changes; changes++) {
        const size_t length = strcspn(*changes, "=");
        if (_strnicmp(entry, *changes, length) == 0 && entry[length] == '=') return true;
    }
    return false;
}

/* One block of strings, sorted as CreateProcess wants them. am_free it. */
static char *environment_block(const char *const *changes) {
    char *const *old = am_environment();
    size_t count = 0, used = 0, bytes = 1, i;
    const char **list;
    char *block, *at;
    while (old && old[count]) count++;
    for (i = 0; changes[i]; i++) count++;
    list = am_alloc((count + 1) * sizeof *list);
    if (!list) return NULL;
    for (i = 0; old && old[i]; i++)
        if (!is_changed(old[i], changes)) list[used++] = old[i];
    for (i = 0; changes[i]; i++)
        if (strchr(changes[i], '=')) list[used++] = changes[i];
    qsort(list, used, sizeof *list, by_name);
    for (i = 0; i < used; i++) bytes += strlen(list[i]) + 1;
    block = at = am_alloc(bytes);
    for (i = 0; block && i < used; i++) {
        const size_t length = strlen(list[i]) + 1;
        memcpy(at, list[i], length);
        at += length;
    }
    if (block) *at = '\0';
    am_free(list);
    return block;
}

/* Arguments in quotes; none of ours holds a quote or ends with a backslash. */
static bool command_line(const char *const *arguments, char *out, size_t size) {
    size_t used = 0;
    for (; *arguments; arguments++) {
        const int length =
            snprintf(out + used, size - used, "%s\"%s\"", used ? " " : "", *arguments);
        if (length < 0 || (size_t)length >= size - used) return false;
        used += (size_t)length;
    }
    return used > 0;
}

/* The child writes to a file that is deleted when it is closed: nobody has to read while it runs.
 */
static HANDLE output_file(void) {
    SECURITY_ATTRIBUTES inherited = {sizeof inherited, NULL, TRUE};
    char folder[MAX_PATH], path[MAX_PATH];
    if (!GetTempPathA(sizeof folder, folder)) return INVALID_HANDLE_VALUE;
    if (!GetTempFileNameA(folder, "amx", 0, path)) return INVALID_HANDLE_VALUE;
    return CreateFileA(path, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE,
                       &inherited, CREATE_ALWAYS,
                       FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL);
}

static void read_part(HANDLE file, LONG from, DWORD method, char *out, DWORD size) {
    DWORD got = 0, i;
    if (SetFilePointer(file, from, NULL, method) == INVALID_SET_FILE_POINTER)
        SetFilePointer(file, 0, NULL, FILE_BEGIN);
    if (!ReadFile(file, out, size - 1, &got, NULL)) got = 0;
    for (i = 0; i < got; i++)
        if (!out[i]) out[i] = ' ';
    out[got] = '\0';
}

/* Closes with the parent, and takes the child along. */
static HANDLE job_for(HANDLE process) {
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {0};
    HANDLE job = CreateJobObjectA(NULL, NULL);
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
    if (job &&
        (!SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof limits) ||
         !AssignProcessToJobObject(job, process))) {
        CloseHandle(job);
        job = NULL;
    }
    return job;
}

void am_child_run(const char *const *arguments, const char *const *changes, uint32_t seconds,
                  am_child *out) {
    STARTUPINFOA how = {.cb = sizeof how, .dwFlags = STARTF_USESTDHANDLES};
    PROCESS_INFORMATION child = {0};
    char line[2048];
    char *block = environment_block(changes);
    HANDLE file = output_file(), job;
    DWORD code = 0;
    memset(out, 0, sizeof *out);
    how.hStdInput = INVALID_HANDLE_VALUE;
    how.hStdOutput = how.hStdError = file;
    if (block && file != INVALID_HANDLE_VALUE && command_line(arguments, line, sizeof line) &&
        CreateProcessA(arguments[0], line, NULL, NULL, TRUE, CREATE_NO_WINDOW | CREATE_SUSPENDED,
                       block, NULL, &how, &child)) {
        job = job_for(child.hProcess);
        ResumeThread(child.hThread);
        if (WaitForSingleObject(child.hProcess, seconds * 1000) != WAIT_OBJECT_0) {
            out->end = AM_CHILD_LATE;
            TerminateProcess(child.hProcess, 1);
            WaitForSingleObject(child.hProcess, 1000);
        } else {
            GetExitCodeProcess(child.hProcess, &code);
            /* An exception that nobody caught: 0xC0000005 and its like. */
            out->end = code >= 0x80000000u ? AM_CHILD_CRASHED : AM_CHILD_EXITED;
            out->code = (int)code;
        }
        read_part(file, 0, FILE_BEGIN, out->head, sizeof out->head);
        read_part(file, -(LONG)(sizeof out->tail - 1), FILE_END, out->tail, sizeof out->tail);
        CloseHandle(child.hThread);
        CloseHandle(child.hProcess);
        if (job) CloseHandle(job);
    }
    if (file != INVALID_HANDLE_VALUE) CloseHandle(file);
    am_free(block);
}
