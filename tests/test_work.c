/* What launches ask of a device, in the planner's arithmetic: every launch stays within the bound
 * unless nothing smaller is left, all launches together do what one would without a bound, and no
 * decision that the bits follow from depends on it. Needs no device. */
#include "plan_row.h"
#include "work.h"

#include "support/suite.h"

#include <stdio.h>
#include <string.h>

#define MEMORY(i) ((am_memory *)(uintptr_t)(0x1000 * ((i) + 1))) /* never touched */

static const uint64_t works[] = {1, 20000, 300000, UINT64_C(5000000)};

static am_limits limits_of(uint64_t work) {
    am_limits l = {0};
    l.range_bytes = (uint64_t)1 << 27;
    l.offset_align = 16;
    l.bindings = AM_SLOTS;
    l.split_length = 5000;
    l.split_rows = 16;
    l.longest_row = 1 << 17;
    l.part_length = 512;
    l.max_parts = 64;
    l.launch_work = work;
    l.row_block = 1;
    return l;
}

/* ---------------------------------------------------------------- rows */

#define MAX_STEPS 64 /* launches for one stage count as one step */

typedef struct step {
    am_row_args args; /* of the first launch, without what cutting changes */
    int32_t rows;
    int64_t cells;
} step;

typedef struct row_watch {
    const am_limits *limits;
    const am_program *program;
    unsigned char *seen; /* (row, part) of the step, by row_base */
    int64_t seen_count, parts;
    step steps[MAX_STEPS];
    int count;
    char text[200];
} row_watch;

static void complain(char *text, const char *what, long long a, long long b) {
    if (!text[0]) snprintf(text, 200, "%s: %lld, %lld", what, a, b);
}

/* What all launches of a step share. Offsets move with part0. */
static am_row_args shared(const am_row_args *args) {
    am_row_args a = *args;
    for (int s = 0; s < AM_SLOTS; s++) a.tensor[s].offset = 0;
    a.row0 = a.rows = a.part0 = a.parts = 0;
    return a;
}

static anymax_status on_row(void *user, const am_row_launch *l) {
    row_watch *w = user;
    const am_row_args *a = &l->args;
    am_row_args same = shared(a);
    const bool smallest = a->rows - a->row0 <= (int32_t)w->limits->row_block && a->parts == 1;
    step *now = w->count ? &w->steps[w->count - 1] : NULL;
    if (am_row_work(w->program, a) > w->limits->launch_work && !smallest)
        complain(w->text, "too much work", a->rows - a->row0, a->parts);
    if (!now || memcmp(&now->args, &same, sizeof same) != 0) {
        if (w->count == MAX_STEPS) return ANYMAX_ERROR_UNSUPPORTED;
        now = &w->steps[w->count++];
        now->args = same;
        now->rows = l->rows;
        now->cells = 0;
        memset(w->seen, 0, (size_t)w->seen_count);
    }
    if (l->rows != now->rows) complain(w->text, "another number of rows", l->rows, now->rows);
    for (int64_t r = a->row0; r < a->rows; r++)
        for (int64_t p = a->part0; p < a->part0 + a->parts; p++) {
            int64_t at = (a->row_base + r) * w->parts + p;
            if (p >= w->parts || at >= w->seen_count || w->seen[at]++)
                complain(w->text, "a part of a row twice, or none", r, p);
            now->cells++;
        }
    return ANYMAX_OK;
}

static am_row_request rows_request(int program, int64_t rows, int64_t n) {
    am_row_request q;
    memset(&q, 0, sizeof q);
    q.program = program;
    q.outer_rank = 1;
    q.outer[0] = rows;
    q.n = n;
    for (int s = 0; s < AM_SLOT_WORKSPACE; s++) {
        am_slot_role role = am_program_table[program].slot[s].role;
        bool along = role == AM_ROLE_IN || role == AM_ROLE_OUT;
        if (role == AM_ROLE_NONE) continue;
        q.slot[s] = (am_row_slot){MEMORY(s), 0, AM_F32, 4, {0}, along ? 1 : 0};
        if (role == AM_ROLE_INDEX) q.slot[s].type = AM_I32;
        q.slot[s].stride[0] = along ? n : 1;
    }
    return q;
}

static void plan_rows(row_watch *w, const am_row_request *q, const am_limits *l) {
    am_pretend none = {0};
    am_sink sink = {.limits = l,
                    .pretend = &none,
                    .workspace = MEMORY(20),
                    .partial_bytes = AM_STATUS_BYTES,
                    .user = w,
                    .row = on_row};
    memset(w, 0, sizeof *w);
    w->limits = l;
    w->program = &am_program_table[q->program];
    w->parts = q->n / 64 + 2;
    w->seen_count = q->outer[0] * w->parts;
    w->seen = calloc((size_t)w->seen_count, 1);
    ck_assert_ptr_nonnull(w->seen);
    ck_assert_msg(am_plan_row(&sink, q) == ANYMAX_OK, "%s", anymax_error_message());
    free(w->seen);
}

/* Every program; short rows and long ones, rows that are split for their length or for want of
 * others. */
START_TEST(every_program) {
    static const int64_t shapes[][2] = {{1, 1},    {1000, 1},  {700, 9},    {129, 700},
                                        {3, 5001}, {5, 40000}, {17, 40000}, {2, 300000}};
    static row_watch whole, cut;
    for (int s = 0; s < COUNT(shapes); s++) {
        am_row_request q = rows_request(_i, shapes[s][0], shapes[s][1]);
        am_limits l = limits_of(UINT64_MAX);
        plan_rows(&whole, &q, &l);
        for (int k = 0; k < 2 * COUNT(works); k++) {
            l = limits_of(works[k / 2]);
            l.row_block = k % 2 ? 16 : 1;
            plan_rows(&cut, &q, &l);
            ck_assert_msg(!cut.text[0], "%s of %lld x %lld, %llu: %s", cut.program->name,
                          (long long)q.outer[0], (long long)q.n, (unsigned long long)works[k / 2],
                          cut.text);
            ck_assert_int_eq(cut.count, whole.count);
            for (int i = 0; i < cut.count; i++) {
                ck_assert_int_eq(cut.steps[i].cells, whole.steps[i].cells);
                ck_assert_int_eq(cut.steps[i].rows, whole.steps[i].rows);
                ck_assert(memcmp(&cut.steps[i].args, &whole.steps[i].args,
                                 sizeof cut.steps[i].args) == 0);
            }
        }
    }
}
END_TEST

/* ---------------------------------------------------------------- products */

#define TILE 64

typedef struct product_watch {
    const am_limits *limits;
    const am_product_request *request;
    int64_t *sum;      /* terms that each element of c has, in order */
    char pieces[4096]; /* lengths of the sums of element 0, as text */
    char text[200];
} product_watch;

static int64_t element(const am_product_launch *l, int slot, size_t base) {
    return ((int64_t)l->binding[slot].offset_bytes - (int64_t)base) / 4 +
           l->args.tensor[slot].offset;
}

static anymax_status on_product(void *user, const am_product_launch *l) {
    product_watch *w = user;
    const am_product_request *q = w->request;
    const am_product_args *a = &l->args;
    /* a is batch x m x k, c is batch x m x n, both packed */
    const int64_t from = element(l, 0, q->slot[0].offset_bytes);
    const int64_t to = element(l, 2, q->slot[2].offset_bytes);
    const int64_t k0 = from % q->k, row = from / q->k % q->m, batch = from / q->k / q->m;
    const int64_t column = to % q->n;
    if (am_product_work(a) > w->limits->launch_work && (a->batch > 1 || a->m > TILE || a->n > TILE))
        complain(w->text, "too much work", a->m, a->n);
    if (to / q->n % q->m != row || to / q->n / q->m != batch)
        complain(w->text, "rows of a are not those of c", row, to / q->n % q->m);
    if (element(l, 1, q->slot[1].offset_bytes) != (batch * q->k + k0) * q->n + column)
        complain(w->text, "another part of b", k0, column);
    for (int64_t b = batch; b < batch + a->batch; b++)
        for (int64_t i = row; i < row + a->m; i++)
            for (int64_t j = column; j < column + a->n; j++) {
                int64_t *sum = &w->sum[(b * q->m + i) * q->n + j];
                if (*sum != k0 || (a->accumulate != 0) != (k0 > 0 || q->accumulate))
                    complain(w->text, "terms out of order", *sum, k0);
                *sum += a->k;
            }
    if (to == 0) {
        size_t used = strlen(w->pieces);
        snprintf(w->pieces + used, sizeof w->pieces - used, "%d ", a->k);
    }
    return ANYMAX_OK;
}

static void plan_product(product_watch *w, const am_product_request *q, const am_limits *l) {
    am_pretend none = {0};
    am_sink sink = {.limits = l, .pretend = &none, .user = w, .product = on_product};
    const int64_t count = q->batch * q->m * q->n;
    memset(w, 0, sizeof *w);
    w->limits = l;
    w->request = q;
    w->sum = calloc((size_t)count, sizeof *w->sum);
    ck_assert_ptr_nonnull(w->sum);
    ck_assert_msg(am_plan_product(&sink, q) == ANYMAX_OK, "%s", anymax_error_message());
    for (int64_t i = 0; i < count; i++)
        if (w->sum[i] != q->k) complain(w->text, "terms", w->sum[i], q->k);
    free(w->sum);
}

static am_product_request product_request(int64_t m, int64_t n, int64_t k, int64_t batch) {
    am_product_request q;
    memset(&q, 0, sizeof q);
    q.m = m, q.n = n, q.k = k, q.batch = batch;
    q.alpha = 1;
    for (int s = 0; s < 3; s++) {
        q.slot[s].memory = MEMORY(s);
        q.slot[s].offset_bytes = 16 * (size_t)(s + 1);
        q.slot[s].type = AM_F32;
        q.slot[s].element_bytes = 4;
        q.slot[s].column = 1;
    }
    q.slot[0].row = k, q.slot[0].batch = m * k;
    q.slot[1].row = n, q.slot[1].batch = k * n;
    q.slot[2].row = n, q.slot[2].batch = m * n;
    return q;
}

/* Edges on and beside tiles, batches, sums that are cut for their length and for their range. */
START_TEST(products) {
    static const int64_t shapes[][4] = {
        {1, 1, 1, 1},       {64, 64, 64, 3},    {65, 200, 33, 1},
        {300, 70, 129, 5},  {1, 500, 7, 2},     {500, 1, 7, 1},
        {3, 5, 1000000, 1}, {70, 66, 70000, 1}, {2, 3, (1 << 18) + 1, 2}};
    static product_watch whole, cut;
    for (int s = 0; s < COUNT(shapes); s++) {
        am_product_request q =
            product_request(shapes[s][0], shapes[s][1], shapes[s][2], shapes[s][3]);
        am_limits l = limits_of(UINT64_MAX);
        q.accumulate = s % 2;
        if (_i) l.range_bytes = (uint64_t)1 << 18;
        plan_product(&whole, &q, &l);
        ck_assert_msg(!whole.text[0], "shape %d: %s", s, whole.text);
        for (int k = 0; k < COUNT(works); k++) {
            l.launch_work = works[k];
            plan_product(&cut, &q, &l);
            ck_assert_msg(!cut.text[0], "shape %d, %llu: %s", s, (unsigned long long)works[k],
                          cut.text);
            ck_assert_str_eq(cut.pieces, whole.pieces);
        }
    }
}
END_TEST

/* ---------------------------------------------------------------- the numbers */

START_TEST(bounds) {
    am_product_args p = {.m = 33, .n = 64, .k = 10, .batch = 3};
    am_row_args r = {.n = 1000, .rows = 7, .part_len = 1000, .parts = 1, .parts_total = 1};
    const am_program *softmax = &am_program_table[AM_PROGRAM_softmax_forward];
    ck_assert_uint_eq(am_work_of_cores(1), UINT64_C(500000000));
    ck_assert_uint_eq(am_work_of_cores(UINT32_MAX), UINT64_C(40000000000));
    ck_assert_uint_eq(am_product_work(&p), 2 * 64 * 64 * 10 * 3);
    p = (am_product_args){.m = INT32_MAX, .n = INT32_MAX, .k = INT32_MAX, .batch = INT32_MAX};
    ck_assert_uint_eq(am_product_work(&p), UINT64_MAX);
    /* x is read by two stages and the finish, which writes y. */
    r.iterations = 1;
    r.stages = AM_STAGE_ELEMENTS_1 | AM_STAGE_ELEMENTS_2 | AM_STAGE_FINISH;
    am_set_nibble(r.types, 0, AM_F32);
    am_set_nibble(r.types, 1, AM_F16);
    ck_assert_uint_eq(am_row_work(softmax, &r), 7 * 32 * (4 * 1000 + 8));
    r.rows = r.n = r.part_len = r.iterations = INT32_MAX;
    ck_assert_uint_eq(am_row_work(softmax, &r), UINT64_MAX);
    /* A GPU's whole bound is far from what one row of the longest kind takes. */
    ck_assert_uint_lt(AM_GPU_LONGEST_ROW * 3 * AM_WORK_TOUCH, am_work_of_cores(2));
    ck_assert_uint_eq(am_copy_most(UINT64_MAX) % 65536, 0);
    ck_assert_uint_ge(am_copy_most(UINT64_MAX), (uint64_t)1 << 30);
    ck_assert_uint_eq(am_copy_most(1), 65536);
    ck_assert_uint_le(am_copy_work(am_copy_most(am_work_of_cores(16))), am_work_of_cores(16));
}
END_TEST

static void add(TCase *cases) {
    tcase_add_loop_test(cases, every_program, 0, AM_PROGRAM_COUNT);
    tcase_add_loop_test(cases, products, 0, 2);
    tcase_add_test(cases, bounds);
}

int main(void) {
    return suite_main("work", add);
}
