/* Limits that a device is to be treated as having, and choices that are to be forced.
 *
 * ANYMAX_PRETEND, or anymax_device_desc.pretend, is a list "key=value,key=value". A limit is only
 * ever lowered. Keys (0 or absent: as the device has it):
 *
 *     groups=N        groups of one dispatch          invocations=N  items of a group
 *     shared=BYTES    shared (local) memory           subgroup=N     sub-group size; 0 is written
 * "none" range=BYTES     range of one binding            buffers=N      storage buffers of a stage
 *     align=BYTES     alignment of binding offsets    alloc=BYTES    one allocation
 *     storage16=0     no native 16-bit storage        trips=N        loop turns of one invocation
 *     mapped=0        buffers that the host cannot see, as on discrete GPUs (Vulkan)
 *     memory=BYTES    all memory of the device (allocation beyond it fails)
 *     work=N          work of one launch, as runtime/work.h counts it: a slow device
 *     shape=cpu|gpu   kernel shape for CPU-type devices or for GPUs
 *     skeleton=short|chip|stream|split|across         form of the row kernel
 *     reduce=tree|subgroup                            body of a reduction in a group
 *     level=v2|v3|v4|neon|generic                     instruction-set level of the CPU
 *     part=N          columns of a part of a split row
 *     oom=N           the N-th allocation of memory or of an object of the driver fails, counted
 *                     from the moment the device is opened
 *     compile=N       the N-th kernel or pipeline does not build (never on the CPU)
 *     submit=N        the N-th time that work is handed over it is refused
 *     wait=N          the N-th time that work is waited for the wait fails
 *     lost=N          at the N-th of all these calls the device is lost, for good
 *     times=N         calls that fail, from the N-th on; 1 if absent
 *
 * Sizes and work take the suffixes k, m and g (1024-based). */
#ifndef AM_PRETEND_H
#define AM_PRETEND_H

#include <anymax/core.h>

typedef enum am_shape { AM_SHAPE_AUTO = 0, AM_SHAPE_CPU, AM_SHAPE_GPU } am_shape;

typedef enum am_skeleton {
    AM_SKELETON_AUTO = 0,
    AM_SKELETON_SHORT,  /* several rows to a group */
    AM_SKELETON_CHIP,   /* a row kept on chip between stages (where it fits, else stream) */
    AM_SKELETON_STREAM, /* a row read again in each stage */
    AM_SKELETON_SPLIT,  /* a row cut into parts, merged */
    AM_SKELETON_ACROSS  /* neighbouring lanes take neighbouring rows */
} am_skeleton;

typedef enum am_reduce { AM_REDUCE_AUTO = 0, AM_REDUCE_TREE, AM_REDUCE_SUBGROUP } am_reduce;

typedef enum am_level {
    AM_LEVEL_AUTO = 0,
    AM_LEVEL_GENERIC,
    AM_LEVEL_V2,
    AM_LEVEL_V3,
    AM_LEVEL_V4,
    AM_LEVEL_NEON
} am_level;

typedef struct am_pretend {
    uint32_t groups, invocations, shared_bytes, buffers, align, trips, part;
    uint32_t subgroup;
    uint32_t oom, compile, submit, wait, lost, times; /* see fault.h */
    bool no_subgroups, no_storage16, no_mapped;
    uint64_t range_bytes, alloc_bytes, memory_bytes, work;
    am_shape shape;
    am_skeleton skeleton;
    am_reduce reduce;
    am_level level;
} am_pretend;

typedef struct am_device_options {
    am_pretend pretend;
    uint32_t threads;
    bool no_cache;
    bool always_cache;        /* also where the driver keeps compiled kernels itself */
    struct am_faults *faults; /* of the device; outlives what the backend opens */
} am_device_options;

/* Parses the grammar above; an unknown key or a bad value is refused with its message set. */
anymax_status am_pretend_parse(const char *text, am_pretend *out);

#endif
