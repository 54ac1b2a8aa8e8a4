/* How a row launch is laid out on a device: lanes, groups, columns a turn. Decisions follow from
 * shapes and limits alone; the numbers are starting points for a tuner. */
#include "vk.h"
#include "work.h"

#define CHIP_MOST_CPU 16u /* columns of a lane on a processor, where registers are memory */
#define CHIP_LEAST_CPU 8u /* of which it pays to reduce over lanes */
/* On a processor compiling costs more than running: below this many elements one plain pipeline
 * that is compiled in a fraction of the time serves all lengths, with the same order of additions.
 */
#define PLAIN_ELEMENTS_CPU (1u << 18)
#define GPU_STREAM_ITEMS 256u /* of a group that reads its row again and again */
#define GPU_STREAM_UNROLL 4u
#define GPU_SHORT_ITEMS 64u /* of a group of several rows */
#define ACROSS_ITEMS 128u
#define ACROSS_ROWS 16u /* neighbours that share a line of the cache */
#define MOST_ITEMS 256u
#define LIST_BYTES 8192u /* of shared memory for the candidates of a group */
#define LIST_MOST 128u   /* of a lane */
#define LIST_LEAST 4u
#define LANE_ROW_COLUMNS 8192u
#define LANE_ROWS 4u /* groups of them at least */

static uint32_t power_above(uint32_t value) {
    uint32_t p = 1;
    while (p < value && p < 1u << 30) p *= 2;
    return p;
}

static uint32_t power_below(uint32_t value) {
    uint32_t p = 1;
    while (p * 2 <= value) p *= 2;
    return p;
}

static uint32_t at_most(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* Classes of registers, so that few pipelines serve all lengths. */
static uint32_t register_class(uint32_t columns) {
    static const uint32_t classes[] = {1, 2, 3, 4, 6, 8, 12, 16};
    for (int i = 0; i < 8; i++)
        if (columns <= classes[i]) return classes[i];
    return 0;
}

static uint32_t most_reductions(const am_program *program) {
    uint32_t reductions = 1;
    for (int i = 0; i < 3; i++)
        if ((uint32_t)program->reductions[i] > reductions)
            reductions = (uint32_t)program->reductions[i];
    return reductions;
}

/* The largest group whose reductions fit shared memory and limits. */
static uint32_t most_items(const am_backend_device *dev, const am_program *program) {
    return power_below(at_most(at_most(dev->max_items, MOST_ITEMS),
                               dev->shared_bytes / (4 * most_reductions(program))));
}

/* Rows are the contiguous direction of more tensors than columns are. */
static bool rows_contiguous(const am_program *program, const am_row_args *a) {
    int votes = 0;
    for (int s = 0; s < AM_SLOT_WORKSPACE; s++) {
        am_slot_role role = program->slot[s].role;
        if (am_nibble(a->types, s) == AM_ABSENT) continue;
        if (role != AM_ROLE_IN && role != AM_ROLE_OUT) continue;
        if (a->tensor[s].step > 1 || a->tensor[s].step < -1) votes++;
        if (a->d0 > 1 && (a->tensor[s].s0 > 1 || a->tensor[s].s0 < -1)) votes--;
    }
    return votes > 0 && a->d0 > 1;
}

/* Passes over the elements that a launch makes. */
static uint32_t passes_of(const am_row_args *a, bool online) {
    uint32_t passes = (a->stages & AM_STAGE_FINISH) ? 1 : 0;
    if (a->stages & AM_STAGE_ELEMENTS_1) passes++;
    if (a->stages & AM_STAGE_ELEMENTS_3) passes++;
    if (a->stages & AM_STAGE_ELEMENTS_2) {
        if (a->stages & AM_STAGE_PARTIAL)
            passes += (a->stages & AM_STAGE_ONLINE) ? 0 : 1;
        else if (!online)
            passes += (uint32_t)a->iterations;
    }
    return passes;
}

/* `hold`: columns of a lane that registers hold. */
static void layout(const am_backend_device *dev, uint32_t n, uint32_t rows, uint32_t most,
                   uint32_t hold, am_vk_shape *s) {
    const am_skeleton forced = dev->pretend.skeleton;
    uint32_t sub = at_most(power_above(dev->subgroup), most);
    if (s->across) {
        s->items = dev->cpu_shape ? sub : at_most(ACROSS_ITEMS, most);
        s->lanes = 1;
        /* No more neighbours than there are rows; more lanes where groups would be too few. */
        while (s->lanes < s->items && s->items / s->lanes >= 2 * rows) s->lanes *= 2;
        while (!dev->cpu_shape && s->items / s->lanes > ACROSS_ROWS && n / s->lanes > hold &&
               rows / (s->items / s->lanes) < 2 * dev->cores)
            s->lanes *= 2;
    } else if (dev->cpu_shape) {
        /* A lane a row where there are rows enough: nothing to reduce, and what a row costs before
         * its first element is shared by a vector of them. Not where a vector holds a row so that
         * it is read once; and beyond, rows in parallel fall out of the cache. */
        const bool held = n > CHIP_LEAST_CPU * sub && n <= hold * sub;
        s->items = sub;
        s->lanes = n <= LANE_ROW_COLUMNS && rows >= LANE_ROWS * sub && !held ? 1 : sub;
    } else if (n <= 256) {
        s->lanes = at_most(power_above((n + 7) / 8), most);
        s->items = at_most(s->lanes > GPU_SHORT_ITEMS ? s->lanes : GPU_SHORT_ITEMS, most);
    } else {
        uint32_t lanes = power_above((n + hold - 1) / hold);
        s->lanes = at_most(lanes < 64 ? 64 : at_most(lanes, GPU_STREAM_ITEMS), most);
        s->items = s->lanes;
    }
    if (forced == AM_SKELETON_SHORT && !s->across) {
        /* Several rows to a group, whatever their length. */
        if (s->items < 2 && most >= 2) s->items = 2;
        s->lanes = at_most(s->lanes, s->items / 2 ? s->items / 2 : 1);
    } else if (forced == AM_SKELETON_CHIP && !s->across) {
        while (s->lanes < most && s->lanes * hold < n) s->lanes *= 2;
        if (s->items < s->lanes) s->items = s->lanes;
    }
}

/* More lanes where one invocation would take more turns than it may. */
static void fit_trips(const am_backend_device *dev, uint32_t length, uint32_t passes, uint32_t most,
                      am_vk_shape *s) {
    uint64_t budget;
    if (!dev->trips) return;
    budget = dev->trips - dev->trips / 4; /* the rest is for folding and reductions */
    while (s->lanes < most) {
        uint64_t turns = (length + s->lanes * s->unroll - 1) / (s->lanes * s->unroll);
        if (turns * passes <= budget) break;
        s->lanes *= 2;
        if (s->items < s->lanes) s->items = s->lanes;
    }
}

/* Room of a lane for candidates, where stage 2 is repeated over a row that is read again each time.
 */
static uint32_t list_room(const am_backend_device *dev, const am_program *program,
                          const am_row_args *a, const am_vk_shape *s) {
    const int32_t both = AM_STAGE_ELEMENTS_1 | AM_STAGE_ELEMENTS_2;
    uint32_t taken = 4 * s->items * most_reductions(program) + 4, room;
    if (!program->candidate || s->chip || (a->stages & both) != both) return 0;
    if ((a->stages & AM_STAGE_PARTIAL) || a->iterations < 3 || taken >= dev->shared_bytes) return 0;
    room = at_most(LIST_BYTES, dev->shared_bytes - taken) / (4 * s->items);
    return room >= LIST_LEAST ? power_below(at_most(room, LIST_MOST)) : 0;
}

/* All turns over `columns` of all parts are full. */
static bool is_even(const am_row_args *a, uint32_t columns) {
    return (uint32_t)a->n % columns == 0 &&
           (a->parts_total == 1 || (uint32_t)a->part_len % columns == 0);
}

void am_vk_choose_shape(const am_backend_device *dev, const am_program *program,
                        const am_row_args *a, uint32_t rows, am_vk_shape *out) {
    const am_skeleton forced = dev->pretend.skeleton;
    const uint32_t most = most_items(dev, program);
    const uint32_t hold = dev->cpu_shape ? CHIP_MOST_CPU : am_chip_columns(program, a->types);
    const uint32_t length = (uint32_t)(a->part_len < a->n ? a->part_len : a->n);
    const int32_t both = AM_STAGE_ELEMENTS_1 | AM_STAGE_ELEMENTS_2;
    bool online = program->online && (a->stages & both) == both &&
                  !(a->stages & AM_STAGE_PARTIAL) && a->iterations == 1;
    uint32_t passes = passes_of(a, online), each;
    am_vk_shape s = {.stages = a->stages};
    s.across =
        forced == AM_SKELETON_ACROSS || (forced == AM_SKELETON_AUTO && rows_contiguous(program, a));
    layout(dev, length, rows, most, hold, &s);
    s.plain = dev->cpu_shape && forced == AM_SKELETON_AUTO &&
              (uint64_t)length * rows < PLAIN_ELEMENTS_CPU;
    s.each = dev->quads && !s.plain && !s.across ? 4 : 1;
    each = (length + s.lanes * s.each - 1) / (s.lanes * s.each) * s.each;
    s.unroll = s.plain ? 1 : register_class(at_most(each, hold));
    s.chip = s.unroll >= each && passes > 0 && forced != AM_SKELETON_STREAM && !s.plain;
    if (!s.chip) {
        s.unroll = at_most(s.unroll, dev->cpu_shape ? AM_VK_STREAM_UNROLL : GPU_STREAM_UNROLL);
        fit_trips(dev, length, passes, most, &s);
        if (online && s.unroll > 1) s.stages |= AM_STAGE_ONLINE; /* else a move for each column */
    }
    if (s.lanes == 1)
        s.reduce = AM_VK_ALONE;
    else if (!dev->full || s.lanes != s.items || s.across || dev->pretend.reduce == AM_REDUCE_TREE)
        s.reduce = AM_VK_TREE;
    else if (dev->size_control && s.items == dev->subgroup)
        s.reduce = AM_VK_ONE_SUBGROUP;
    else
        s.reduce = AM_VK_SUBGROUPS;
    s.list = list_room(dev, program, a, &s);
    s.even = s.each == 4 && is_even(a, s.lanes * s.unroll);
    s.dims = (uint32_t)a->d0 >= rows && !s.plain ? 1 : 3;
    *out = s;
}

uint32_t am_vk_longest_row(const am_backend_device *dev) {
    /* The group of the program with most reductions may be smaller than MOST_ITEMS. */
    uint32_t items =
        power_below(at_most(at_most(dev->max_items, MOST_ITEMS), dev->shared_bytes / 128));
    uint64_t columns = dev->cpu_shape ? 1u << 26 : AM_GPU_LONGEST_ROW;
    if (dev->trips) {
        uint64_t fits = (uint64_t)(dev->trips - dev->trips / 4) * items *
                        (dev->cpu_shape ? AM_VK_STREAM_UNROLL : GPU_STREAM_UNROLL);
        if (fits < columns) columns = fits;
    }
    return (uint32_t)columns;
}
