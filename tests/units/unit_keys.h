/* Names of cache files, each of which has to be another. */
#ifndef UNIT_KEYS_H
#define UNIT_KEYS_H

#include "os.h"
#include "../support/suite.h"

#include <string.h>

typedef struct keys {
    char seen[32][sizeof(am_cache_key)];
    int count;
} keys;

static inline void check_new(keys *k, am_cache_key key, const char *what) {
    for (int i = 0; i < k->count; i++)
        ck_assert_msg(strcmp(k->seen[i], key.name) != 0, "%s makes no difference", what);
    ck_assert_int_lt(k->count, COUNT(k->seen));
    memcpy(k->seen[k->count++], key.name, sizeof key.name);
}

#endif
