/* Drivers are tried in a child process before they are loaded into this one. Some crash, hang or
 * end the process when they are only listed (two copies of LLVM, a half-installed driver), and a
 * library must not take its host along.
 *
 * The helper `anymax-probe` lists the devices of one backend, through this library. If it comes to
 * the end, so will this process. If not, each driver is tried alone, to name the bad one. The
 * answer is kept in the cache. docs/robustness.md tells the whole story. */
#ifndef AM_PROBE_H
#define AM_PROBE_H

#include <stdint.h>

#include "error.h"
#include "os.h"

#define AM_DRIVERS_MAX 32

/* A driver as the loader of an API finds it. */
typedef struct am_driver {
    char file[512];    /* declares it: an .icd or .json file, or the library itself */
    char library[512]; /* path or plain name; "" if the file tells none */
} am_driver;

typedef struct am_driver_list {
    size_t count;
    am_driver item[AM_DRIVERS_MAX];
    uint64_t watched; /* of other files that can change what happens: layers; 0: there are none */
} am_driver_list;

/* What a backend's loader loads: one for each backend that has drivers of others. */
typedef struct am_drivers {
    const char *backend;
    const char *const *loaders; /* names of the loader's library, then NULL */
    const char *no_layers;      /* "NAME=value" that leaves layers out; NULL: there is none */
    /* Lists the drivers as the loader would find them. */
    void (*list)(am_driver_list *out);
    /* Writes a variable that leaves the loader with the drivers of `keep` (true at an index) alone:
     * number 0, 1 ... until false. "NAME=value" sets, "NAME" removes it. */
    bool (*only)(const am_driver_list *list, const bool *keep, int number, char *out, size_t size);
    /* The same as an advice to people: what to set, in words. */
    void (*advice)(const am_driver_list *list, const bool *keep, char *out, size_t size);
} am_drivers;

/* ANYMAX_OK: the backend may be asked for its devices. Else its drivers are bad, and the message
 * names them. `how` says what was done ("in a child process, 90 ms"), for people. Thread-safe.
 * `drivers` NULL: nothing to try, and `how` is "". */
anymax_status am_probe(const am_drivers *drivers, char *how, size_t size);

/* What a verdict depends on, for the cache; `before` stands for drivers that are loaded already. */
am_cache_key am_probe_key(const am_driver_list *list, const am_drivers *drivers, const char *helper,
                          const char *before);

/* For `list`: a driver declared by `file`, whose library stands after `mark` in it (NULL: at its
 * start). A plain name stays one; a relative path is one from the file's folder. */
void am_driver_add(am_driver_list *list, const char *file, const char *mark);
/* A driver without a file that declares it. */
void am_driver_add_library(am_driver_list *list, const char *library);
/* All files of a folder that end with `suffix`, by name; false if it is no folder. */
bool am_driver_add_folder(am_driver_list *list, const char *folder, const char *suffix,
                          const char *mark);
/* Takes the files of a folder into account without taking them for drivers. */
void am_driver_watch(am_driver_list *list, const char *folder);
/* The next part of a list like PATH's, or false; *at starts as the list. Empty parts are left out.
 */
bool am_path_next(const char **at, char *out, size_t size);
/* Joins the files of `keep` as such a list. */
void am_driver_join(const am_driver_list *list, const bool *keep, const char *before, char *out,
                    size_t size);

#endif
