/* The kernels of each level that this build has. */
#include "levels.h"

#include <stdatomic.h>

#include "../error.h"

/* levels_table.h declares the kernels of AM_LEVEL and makes their table. */
#ifdef AM_HAVE_GENERIC
#define AM_LEVEL generic
#include "levels_table.h"
#undef AM_LEVEL
#endif
#ifdef AM_HAVE_V2
#define AM_LEVEL v2
#include "levels_table.h"
#undef AM_LEVEL
#endif
#ifdef AM_HAVE_V3
#define AM_LEVEL v3
#include "levels_table.h"
#undef AM_LEVEL
#endif
#ifdef AM_HAVE_V4
#define AM_LEVEL v4
#include "levels_table.h"
#undef AM_LEVEL
#endif
#ifdef AM_HAVE_NEON
#define AM_LEVEL neon
#include "levels_table.h"
#undef AM_LEVEL
#endif

#define LEVEL(number, name_) \
    {number, #name_, rows_##name_, am_cpu_row_##name_, am_cpu_product_##name_},

/* Best first. */
static const am_cpu_level levels[] = {
#ifdef AM_HAVE_V4
    LEVEL(AM_LEVEL_V4, v4)
#endif
#ifdef AM_HAVE_V3
        LEVEL(AM_LEVEL_V3, v3)
#endif
#ifdef AM_HAVE_V2
            LEVEL(AM_LEVEL_V2, v2)
#endif
#ifdef AM_HAVE_NEON
                LEVEL(AM_LEVEL_NEON, neon)
#endif
#ifdef AM_HAVE_GENERIC
                    LEVEL(AM_LEVEL_GENERIC, generic)
#endif
};

static const char *level_name(am_level level) {
    static const char *const names[] = {"auto", "generic", "v2", "v3", "v4", "neon"};
    return names[level];
}

const am_cpu_level *am_cpu_level_choose(am_level wanted) {
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        if (wanted != AM_LEVEL_AUTO && levels[i].level != wanted) continue;
        if (am_cpu_can_run(levels[i].level)) return &levels[i];
        if (wanted == AM_LEVEL_AUTO) continue;
        am_fail(ANYMAX_ERROR_UNSUPPORTED, "cpu: this processor cannot run level %s",
                level_name(wanted));
        return NULL;
    }
    if (wanted == AM_LEVEL_AUTO)
        am_fail(ANYMAX_ERROR_UNSUPPORTED,
                "cpu: this processor can run none of the levels in this library; the lowest is %s",
                levels[sizeof levels / sizeof *levels - 1].name);
    else
        am_fail(ANYMAX_ERROR_UNSUPPORTED, "cpu: this library has no kernels of level %s",
                level_name(wanted));
    return NULL;
}

void am_cpu_raise(void *word, uint32_t bits) {
#if defined(__GNUC__)
    __atomic_fetch_or((uint32_t *)word, bits, __ATOMIC_RELAXED);
#else
    atomic_fetch_or_explicit((_Atomic uint32_t *)word, bits, memory_order_relaxed);
#endif
}
