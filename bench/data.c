/* data.c: where the files are that come with the command. */
#include "command.h"
#include "system.h"

#include <stdlib.h>
#include <string.h>

/* Given by the build: the source tree, and the way from the installed program to its data. */
#ifndef ANYMAX_SOURCE_GOLDEN
#define ANYMAX_SOURCE_GOLDEN "tests/golden"
#endif
#ifndef ANYMAX_SOURCE_DATA
#define ANYMAX_SOURCE_DATA "bench/data"
#endif
#ifndef ANYMAX_INSTALLED_DATA
#define ANYMAX_INSTALLED_DATA "../share/anymax"
#endif

/* Folder number `place` (0, 1) to look into; false where there is none. */
static bool place_at(int place, const char *folder, char *out, size_t size) {
    const char *own = getenv("ANYMAX_DATA");
    bool golden = strcmp(folder, "golden") == 0;
    char program[1024];
    int n = -1;
    if (own && *own) {
        /* A folder that was named is the only one: a mistyped name must not go unnoticed. */
        n = place ? snprintf(out, size, "%s", own) : snprintf(out, size, "%s/%s", own, folder);
    } else if (place == 0) {
        if (system_program_folder(program, sizeof program))
            n = snprintf(out, size, "%s/%s/%s", program, ANYMAX_INSTALLED_DATA, folder);
    } else {
        n = snprintf(out, size, "%s", golden ? ANYMAX_SOURCE_GOLDEN : ANYMAX_SOURCE_DATA);
    }
    return n > 0 && (size_t)n < size;
}

bool cmd_data_path(const char *folder, const char *name, char *out, size_t size) {
    char at[1200];
    int place;
    for (place = 0; place < 2; place++) {
        FILE *file;
        int n;
        if (!place_at(place, folder, at, sizeof at)) continue;
        n = snprintf(out, size, "%s/%s", at, name);
        if (n < 0 || (size_t)n >= size) continue;
        file = fopen(out, "rb");
        if (!file) continue;
        fclose(file);
        return true;
    }
    return false;
}

void cmd_data_places(const char *folder, char *out, size_t size) {
    char at[1200];
    int place;
    out[0] = 0;
    for (place = 0; place < 2; place++) {
        size_t used = strlen(out);
        if (place_at(place, folder, at, sizeof at))
            snprintf(out + used, size - used, "%s%s", used ? " and " : "", at);
    }
}
