/* The grammar of ANYMAX_PRETEND: what is taken, and what is refused with which words. */
#include "pretend.h"

#include "../support/suite.h"

#include <string.h>

static const struct {
    const char *text;
    am_pretend want;
} taken[] = {
    {"", {0}},
    {"groups=1000", {.groups = 1000}},
    {"invocations=128,", {.invocations = 128}},
    {"shared=16k", {.shared_bytes = 16 * 1024}},
    {"shared=16384", {.shared_bytes = 16384}},
    {"range=1m,align=256", {.range_bytes = 1024 * 1024, .align = 256}},
    {"range=4g", {.range_bytes = UINT64_C(4) << 30}},
    {"alloc=1m,memory=2g", {.alloc_bytes = 1 << 20, .memory_bytes = UINT64_C(2) << 30}},
    {"work=100k", {.work = 100 * 1024}},
    {"work=5000000000", {.work = UINT64_C(5000000000)}},
    {"subgroup=none", {.no_subgroups = true}},
    {"subgroup=32", {.subgroup = 32}},
    {"storage16=0", {.no_storage16 = true}},
    {"storage16=1", {0}},
    {"buffers=4,trips=65535,part=4096", {.buffers = 4, .trips = 65535, .part = 4096}},
    {"groups=4294967295", {.groups = UINT32_MAX}},
    {"shape=cpu", {.shape = AM_SHAPE_CPU}},
    {"shape=gpu", {.shape = AM_SHAPE_GPU}},
    {"skeleton=short", {.skeleton = AM_SKELETON_SHORT}},
    {"skeleton=chip", {.skeleton = AM_SKELETON_CHIP}},
    {"skeleton=stream", {.skeleton = AM_SKELETON_STREAM}},
    {"skeleton=split", {.skeleton = AM_SKELETON_SPLIT}},
    {"skeleton=across", {.skeleton = AM_SKELETON_ACROSS}},
    {"reduce=tree", {.reduce = AM_REDUCE_TREE}},
    {"reduce=subgroup", {.reduce = AM_REDUCE_SUBGROUP}},
    {"level=generic", {.level = AM_LEVEL_GENERIC}},
    {"level=v2", {.level = AM_LEVEL_V2}},
    {"level=v3", {.level = AM_LEVEL_V3}},
    {"level=v4", {.level = AM_LEVEL_V4}},
    {"level=neon", {.level = AM_LEVEL_NEON}},
    {"mapped=0", {.no_mapped = true}},
    {"oom=3,times=2", {.oom = 3, .times = 2}},
    {"compile=1,submit=2,wait=4,lost=3", {.compile = 1, .submit = 2, .wait = 4, .lost = 3}},
    {"groups=1,groups=2", {.groups = 2}}, /* the last one counts */
};

START_TEST(is_taken) {
    const am_pretend *want = &taken[_i].want;
    am_pretend got;
    memset(&got, 0xff, sizeof got); /* what was there before must not shine through */
    ck_assert_msg(am_pretend_parse(taken[_i].text, &got) == ANYMAX_OK, "%s: %s", taken[_i].text,
                  anymax_error_message());
    ck_assert_uint_eq(got.groups, want->groups);
    ck_assert_uint_eq(got.invocations, want->invocations);
    ck_assert_uint_eq(got.shared_bytes, want->shared_bytes);
    ck_assert_uint_eq(got.buffers, want->buffers);
    ck_assert_uint_eq(got.align, want->align);
    ck_assert_uint_eq(got.trips, want->trips);
    ck_assert_uint_eq(got.part, want->part);
    ck_assert_uint_eq(got.subgroup, want->subgroup);
    ck_assert_int_eq(got.no_subgroups, want->no_subgroups);
    ck_assert_int_eq(got.no_storage16, want->no_storage16);
    ck_assert_uint_eq(got.range_bytes, want->range_bytes);
    ck_assert_uint_eq(got.alloc_bytes, want->alloc_bytes);
    ck_assert_uint_eq(got.memory_bytes, want->memory_bytes);
    ck_assert_uint_eq(got.work, want->work);
    ck_assert_int_eq(got.no_mapped, want->no_mapped);
    ck_assert_uint_eq(got.oom, want->oom);
    ck_assert_uint_eq(got.compile, want->compile);
    ck_assert_uint_eq(got.submit, want->submit);
    ck_assert_uint_eq(got.wait, want->wait);
    ck_assert_uint_eq(got.lost, want->lost);
    ck_assert_uint_eq(got.times, want->times);
    ck_assert_int_eq(got.shape, want->shape);
    ck_assert_int_eq(got.skeleton, want->skeleton);
    ck_assert_int_eq(got.reduce, want->reduce);
    ck_assert_int_eq(got.level, want->level);
}
END_TEST

static const struct {
    const char *text;
    const char *words; /* in the message */
} refused[] = {
    {"colour=1", "there is no key in \"colour=1\""},
    {"groups=1,colour=1", "there is no key in \"colour=1\""},
    {"group=1", "there is no key"},   /* neither a part of a key ... */
    {"groupss=1", "there is no key"}, /* ... nor more than one */
    {"Groups=1", "there is no key"},
    {"=1", "there is no key"},
    {",", "there is no key"},
    {" groups=1", "there is no key"},
    {"groups", "groups is a whole number"},
    {"groups=", "groups is a whole number"},
    {"groups=-1", "groups is a whole number"},
    {"groups=1.5", "groups is a whole number"},
    {"groups= 1", "groups is a whole number"},
    {"groups=0x10", "groups is a whole number"},
    {"groups=4k", "groups is a whole number"},         /* not a size */
    {"groups=4294967296", "groups is a whole number"}, /* 2^32 */
    {"shared=4g", "shared is a number of bytes"},      /* 2^32 again */
    {"shared=k", "shared is a number of bytes"},
    {"shared=1kk", "shared is a number of bytes"},
    {"range=17179869184g", "range is a number of bytes"}, /* 2^64 */
    {"range=99999999999999999999", "range is a number of bytes"},
    {"subgroup=3", "subgroup is a power of two, or none"},
    {"align=3", "align is a power of two up to 64k"},
    {"align=128k", "align is a power of two up to 64k"},
    {"align=4294967295",
     "align is a power of two up to 64k"}, /* every tensor was a multiple of it */
    {"storage16=2", "storage16 is 0 or 1"},
    {"mapped=2", "mapped is 0 or 1"},
    {"oom=", "oom is a whole number"},
    {"lost=1k", "lost is a whole number"},
    {"shape=fpga", "shape is cpu|gpu"},
    {"shape=cpu|gpu", "shape is cpu|gpu"},
    {"skeleton=chi", "skeleton is short|chip|stream|split|across"},
    {"reduce=", "reduce is tree|subgroup"},
    {"level=v5", "level is generic|v2|v3|v4|neon"},
};

START_TEST(is_refused) {
    am_pretend got;
    ck_assert_int_eq(am_pretend_parse(refused[_i].text, &got), ANYMAX_ERROR_INVALID);
    ck_assert_msg(strstr(anymax_error_message(), refused[_i].words) != NULL, "%s: %s",
                  refused[_i].text, anymax_error_message());
}
END_TEST

START_TEST(null_is_empty) {
    am_pretend got;
    ck_assert_int_eq(am_pretend_parse(NULL, &got), ANYMAX_OK);
    ck_assert_uint_eq(got.groups, 0);
}
END_TEST

static void add(TCase *all) {
    tcase_add_loop_test(all, is_taken, 0, COUNT(taken));
    tcase_add_loop_test(all, is_refused, 0, COUNT(refused));
    tcase_add_test(all, null_is_empty);
}

int main(void) {
    return suite_main("pretend", add);
}
