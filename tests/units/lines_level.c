/* Lines and squares as one instruction-set level has them: AM_LEVEL, with the flags of that level.
 */
#include "cpu/elements.h"
#include "cpu/turn.h"

#include "lines_level.h"

static void load(float *to, const char *data, uint32_t type, ptrdiff_t step, int count) {
    am_load_line(to, data, type, step, count);
}

static void store(char *data, uint32_t type, ptrdiff_t step, const float *from, int count) {
    am_store_line(data, type, step, from, count);
}

static void stream(char *data, uint32_t type, const float *from, int count) {
    am_stream_line(data, type, from, count);
}

static void turn(float *to, ptrdiff_t to_step, const float *from, ptrdiff_t from_step) {
    am_turn(to, to_step, from, from_step);
}

#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)
extern const lines_level AM_CAT(lines, AM_LEVEL);
const lines_level AM_CAT(lines, AM_LEVEL) = {TEXT(AM_LEVEL), LINES_NUMBER, load,
                                             store,          stream,       turn};
