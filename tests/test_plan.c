/* The arithmetic of the planner, without the memory that it plans for: every launch stays inside
 * the device's limits and 32-bit indices, addresses what it should, and all launches together cover
 * each element once, from a few rows in ranges of a few hundred bytes up to 2^31 rows. Needs no
 * device. */
#include "plan_row.h"
#include "work.h"

#include "support/suite.h"

#include <stdio.h>
#include <string.h>

enum { X = 0, Y = 1 }; /* slots of softmax_forward */

#define MEMORY(i) ((am_memory *)(uintptr_t)(0x1000 * ((i) + 1))) /* never touched */
#define WORKSPACE MEMORY(20)

typedef struct watch {
    const am_row_request *request;
    const am_limits *limits;
    const am_program *program;
    int64_t rows;           /* of all outer dimensions */
    unsigned char *covered; /* elements of the outputs, where they are few */
    int64_t finished;       /* elements, or rows, that FINISH launches wrote */
    int launches;
    char text[256];
} watch;

static bool wrong(watch *w, const char *what, long long a, long long b) {
    if (w->text[0] == 0)
        snprintf(w->text, sizeof w->text, "launch %d: %s: %lld, %lld", w->launches, what, a, b);
    return false;
}

/* Element of slot `s` by the kernel's rule, for row r and column c of the launch. */
static int64_t kernel_element(const am_row_args *a, int s, int64_t r, int64_t c, bool along) {
    int64_t d0 = a->d0, d1 = a->d1;
    int64_t at = a->tensor[s].offset;
    at += r % d0 * a->tensor[s].s0 + r / d0 % d1 * a->tensor[s].s1 + r / (d0 * d1) * a->s2[s];
    if (along) at += (c - (int64_t)a->part0 * a->part_len) * a->tensor[s].step;
    return at;
}

/* Number of the row that a byte of the output y belongs to, which is packed in these tests. */
static int64_t row_at(const watch *w, int slot, int64_t byte, int64_t *column) {
    const am_row_slot *y = &w->request->slot[slot];
    int64_t element = (byte - (int64_t)y->offset_bytes) / y->element_bytes;
    int64_t n = y->step ? w->request->n : 1;
    *column = element % n;
    return element / n;
}

/* Where element (row, column) of a slot lies, from the request alone. */
static int64_t true_byte(const watch *w, int slot, int64_t row, int64_t column) {
    const am_row_slot *t = &w->request->slot[slot];
    int64_t at = column * t->step;
    for (uint32_t d = w->request->outer_rank; d-- > 0;) {
        at += row % w->request->outer[d] * t->stride[d];
        row /= w->request->outer[d];
    }
    return (int64_t)t->offset_bytes + at * t->element_bytes;
}

static bool check_element(watch *w, const am_row_launch *l, int64_t r, int64_t c, int64_t *row) {
    const am_row_args *a = &l->args;
    int64_t byte[AM_SLOTS], column = c;
    *row = -1;
    for (int s = 0; s < AM_SLOTS; s++) {
        const am_row_slot *t = &w->request->slot[s];
        const am_binding *b = &l->binding[s];
        am_slot_role role = w->program->slot[s].role;
        bool along = role == AM_ROLE_IN || role == AM_ROLE_OUT;
        int64_t at, end;
        if (t->memory == NULL) continue;
        at = kernel_element(a, s, r, c, along);
        if (at < 0 || at > INT32_MAX) return wrong(w, "an index beyond 32 bits", s, at);
        end = (at + 1) * t->element_bytes;
        if (end > (int64_t)b->span_bytes) return wrong(w, "an element outside the binding", s, end);
        if (b->memory == WORKSPACE) continue; /* packed: a copy of the range */
        if (b->memory != t->memory) return wrong(w, "another memory", s, 0);
        byte[s] = (int64_t)b->offset_bytes + at * t->element_bytes;
        if (s == Y) *row = row_at(w, s, byte[s], &column);
    }
    if (*row < 0) return true;
    if (column != (w->request->slot[Y].step ? c : 0)) return wrong(w, "another column", column, c);
    for (int s = 0; s < AM_SLOTS; s++) {
        am_slot_role role = w->program->slot[s].role;
        bool along = role == AM_ROLE_IN || role == AM_ROLE_OUT;
        if (w->request->slot[s].memory == NULL || l->binding[s].memory == WORKSPACE) continue;
        if (byte[s] != true_byte(w, s, *row, along ? c : 0))
            return wrong(w, "an address of another row", s, *row);
    }
    return true;
}

static bool check_bindings(watch *w, const am_row_launch *l) {
    uint32_t used = 0;
    for (int s = 0; s < AM_SLOTS; s++) {
        const am_binding *b = &l->binding[s];
        if (b->memory == NULL) continue;
        used |= 1u << am_nibble(l->args.binds, s);
        if (b->offset_bytes % w->limits->offset_align)
            return wrong(w, "unaligned", s, (long long)b->offset_bytes);
        if (b->span_bytes > w->limits->range_bytes)
            return wrong(w, "beyond the range", s, (long long)b->span_bytes);
    }
    for (uint32_t i = 0; i < 16; i++)
        if (used >> i & 1 && i >= w->limits->bindings)
            return wrong(w, "too many bindings", i, w->limits->bindings);
    return true;
}

static anymax_status on_row(void *user, const am_row_launch *l) {
    watch *w = user;
    const am_row_args *a = &l->args;
    int64_t from = (int64_t)a->part0 * a->part_len, to = from + (int64_t)a->parts * a->part_len;
    bool finish = (a->stages & AM_STAGE_FINISH) != 0, elements = w->program->elements,
         few = w->covered != NULL;
    int64_t rows = a->rows - a->row0;
    w->launches++;
    if (to > a->n) to = a->n;
    if (rows <= 0 || a->n != w->request->n || to <= from || a->d0 <= 0 || a->d1 <= 0)
        wrong(w, "an empty launch", rows, to - from);
    if (a->row0 < 0 || a->rows > l->rows) wrong(w, "rows beyond the launch", a->row0, a->rows);
    if (am_row_work(w->program, a) > w->limits->launch_work &&
        (rows > w->limits->row_block || a->parts > 1))
        wrong(w, "too much work", rows, a->parts);
    check_bindings(w, l);
    for (int64_t r = a->row0; r < a->rows; r += few || rows < 4 ? 1 : rows / 3) {
        for (int64_t c = from; c < to; c += few || to - from < 4 ? 1 : (to - from) / 3) {
            int64_t row;
            check_element(w, l, r, c, &row);
            if (few && finish && row >= 0 && elements) w->covered[row * a->n + c]++;
        }
    }
    for (int64_t r = a->rows - 1, row; r >= 0; r = -1) check_element(w, l, r, to - 1, &row);
    if (finish) w->finished += rows * (elements ? to - from : 1);
    return ANYMAX_OK;
}

static anymax_status on_copy(void *user, am_memory *to, size_t to_offset, am_memory *from,
                             size_t from_offset, size_t size) {
    (void)user, (void)to, (void)to_offset, (void)from, (void)from_offset, (void)size;
    return ANYMAX_OK;
}

static am_limits limits_of(uint64_t range, uint32_t align, uint32_t bindings) {
    am_limits l = {0};
    l.range_bytes = range;
    l.alloc_bytes = (uint64_t)1 << 40;
    l.offset_align = align;
    l.bindings = bindings;
    l.split_length = 1 << 16;
    l.split_rows = 64;
    l.longest_row = 1 << 22;
    l.part_length = 4096;
    l.max_parts = 4096;
    l.launch_work = UINT64_MAX;
    l.row_block = 1;
    return l;
}

static anymax_status plan(watch *w, const am_row_request *q, const am_limits *l,
                          const am_pretend *pretend) {
    am_sink sink = {.limits = l,
                    .pretend = pretend,
                    .workspace = WORKSPACE,
                    .partial_bytes = 256,
                    .user = w,
                    .row = on_row,
                    .copy = on_copy};
    w->request = q;
    w->limits = l;
    w->program = &am_program_table[q->program];
    w->rows = 1;
    for (uint32_t d = 0; d < q->outer_rank; d++) w->rows *= q->outer[d];
    return am_plan_row(&sink, q);
}

/* softmax of `rank` outer dimensions; x has gaps (or is permuted), y is packed. */
static am_row_request request(uint32_t rank, const int64_t *outer, int64_t n, uint32_t bytes,
                              int gaps) {
    am_row_request q;
    memset(&q, 0, sizeof q);
    q.program = AM_PROGRAM_softmax_forward;
    q.outer_rank = rank;
    q.n = n;
    q.slot[X] = (am_row_slot){MEMORY(0), 12, AM_F32, 4, {0}, gaps ? 2 : 1};
    q.slot[Y] = (am_row_slot){MEMORY(1), 6, bytes == 2 ? AM_F16 : AM_F32, bytes, {0}, 1};
    for (uint32_t d = rank; d-- > 0;) {
        int64_t below = n, wide = gaps ? 2 * n + 3 : n;
        q.outer[d] = outer[d];
        for (uint32_t k = rank; k-- > d + 1;) {
            below *= outer[k];
            wide = wide * outer[k] + (gaps ? 5 : 0);
        }
        q.slot[Y].stride[d] = below;
        q.slot[X].stride[d] = wide;
    }
    if (bytes == 4) q.slot[Y].offset_bytes = 8;
    return q;
}

/* ---------------------------------------------------------------- few elements, all looked at */

static const uint64_t ranges[] = {600, 1024, 4096, 1 << 20};
static const uint32_t aligns[] = {4, 16, 64, 256};
/* Everything at once, several rows, a row or a part, not even that. */
static const uint64_t works[] = {UINT64_MAX, 100000, 20000, 1};

START_TEST(every_element_once) {
    static const struct {
        uint32_t rank;
        int64_t outer[5], n;
    } shapes[] = {{0, {0}, 50},      {1, {9}, 17},         {2, {5, 7}, 6},
                  {3, {3, 4, 5}, 7}, {4, {2, 3, 2, 3}, 5}, {5, {2, 2, 3, 2, 2}, 3},
                  {1, {2}, 700}};
    uint32_t align = aligns[_i % 4], bindings = _i / 4 % 2 ? 4 : 8;
    for (int s = 0; s < (int)(sizeof shapes / sizeof shapes[0]); s++)
        for (int k = 0; k < 16; k++) {
            am_limits l = limits_of(ranges[k % 4] + 2 * align, align, bindings);
            am_pretend forced = {0};
            watch w = {0};
            am_row_request q =
                request(shapes[s].rank, shapes[s].outer, shapes[s].n, k & 4 ? 2 : 4, k & 8);
            anymax_status status;
            size_t count;
            if (k % 3 == 1) forced.skeleton = AM_SKELETON_SPLIT;
            if (k % 3 == 1) forced.part = 64;
            l.part_length = 64;
            l.launch_work = works[(k / 4 + s) % 4];
            l.row_block = k % 2 ? 1 : 16;
            w.rows = 1;
            for (uint32_t d = 0; d < q.outer_rank; d++) w.rows *= q.outer[d];
            count = (size_t)(w.rows * q.n);
            w.covered = calloc(count, 1);
            status = plan(&w, &q, &l, &forced);
            /* so small a range may not even hold the partial states of one row */
            if (status == ANYMAX_ERROR_UNSUPPORTED && ranges[k % 4] < 2000) {
                free(w.covered);
                continue;
            }
            ck_assert_msg(status == ANYMAX_OK, "shape %d, variation %d: %s", s, k,
                          anymax_error_message());
            ck_assert_msg(w.text[0] == 0, "shape %d, variation %d, alignment %u: %s", s, k, align,
                          w.text);
            for (size_t i = 0; i < count; i++)
                ck_assert_msg(w.covered[i] == 1,
                              "shape %d, variation %d: element %zu written %d times", s, k, i,
                              w.covered[i]);
            free(w.covered);
        }
}
END_TEST

/* ---------------------------------------------------------------- more than memory holds */

static void huge(const char *name, const am_row_request *q, uint64_t range, uint64_t work) {
    am_limits l = limits_of(range, 16, 8);
    am_pretend none = {0};
    watch w = {0};
    l.launch_work = work;
    ck_assert_msg(plan(&w, q, &l, &none) == ANYMAX_OK, "%s: %s", name, anymax_error_message());
    ck_assert_msg(w.text[0] == 0, "%s: %s", name, w.text);
    ck_assert_msg(w.finished == w.rows * q->n, "%s: %lld of %lld elements", name,
                  (long long)w.finished, (long long)(w.rows * q->n));
}

START_TEST(huge_sizes) {
    static const struct {
        const char *name;
        uint32_t rank;
        int64_t outer[5], n;
        int gaps;
    } shapes[] = {
        {"2^31 rows", 1, {(int64_t)1 << 31}, 3, 0},
        {"2^31 rows of one column", 1, {(int64_t)1 << 31}, 1, 1},
        {"2^31 - 1 rows", 1, {2147483647}, 5, 0},
        {"2^31 rows in two dimensions", 2, {65536, 32768}, 4, 1},
        {"2^31 rows in five dimensions", 5, {128, 64, 64, 64, 64}, 2, 1},
        {"18423 rows of 131072", 1, {18423}, 131072, 0},
        {"3 rows of 2^30", 1, {3}, (int64_t)1 << 30, 0},
        {"the longest row", 0, {0}, 2147483647 - 64, 1},
    };
    am_row_request q = request(shapes[_i].rank, shapes[_i].outer, shapes[_i].n, 4, shapes[_i].gaps);
    huge(shapes[_i].name, &q, (uint64_t)128 << 20, UINT64_MAX);
    huge(shapes[_i].name, &q, (uint64_t)2 << 30, UINT64_MAX);
    huge(shapes[_i].name, &q, (uint64_t)2 << 30, am_work_of_cores(4));
    q = request(shapes[_i].rank, shapes[_i].outer, shapes[_i].n, 2, shapes[_i].gaps);
    huge(shapes[_i].name, &q, (uint64_t)1 << 27, am_work_of_cores(1));
}
END_TEST

/* Rows 2^30 elements apart, and a row whose elements are 2^20 apart: the stride alone fills the
 * range. */
START_TEST(huge_strides) {
    int64_t outer = 3;
    am_row_request q = request(1, &outer, 8, 4, 0);
    q.slot[X].stride[0] = (int64_t)1 << 30;
    huge("rows 2^30 apart", &q, (uint64_t)128 << 20, UINT64_MAX);
    q = request(1, &outer, 5000, 4, 0);
    q.slot[X].step = (int64_t)1 << 20;
    q.slot[X].stride[0] = 1;
    huge("elements 2^20 apart", &q, (uint64_t)128 << 20, 100000);
    q.slot[X].step = 0;
    q.slot[X].stride[0] = 0;
    huge("all the same element", &q, (uint64_t)128 << 20, 100000);
}
END_TEST

/* Longer rows are refused, not wrapped. */
START_TEST(too_long) {
    static const int64_t lengths[] = {2147483647, ((int64_t)1 << 31) + 8, ((int64_t)1 << 32) + 8,
                                      INT64_MAX / 8};
    for (int i = 0; i < 4; i++) {
        am_row_request q = request(0, NULL, lengths[i], 4, 0);
        am_limits l = limits_of((uint64_t)1 << 31, 16, 8);
        am_pretend none = {0};
        watch w = {0};
        ck_assert_int_eq(plan(&w, &q, &l, &none), ANYMAX_ERROR_UNSUPPORTED);
        ck_assert_int_eq(w.launches, 0);
    }
}
END_TEST

/* Nothing to do: no launch. */
START_TEST(nothing) {
    static const int64_t none[2] = {0, 3}, some[2] = {2, 3};
    am_limits l = limits_of(1 << 20, 16, 8);
    am_pretend plain = {0};
    watch w = {0};
    am_row_request q = request(2, none, 5, 4, 0);
    ck_assert_int_eq(plan(&w, &q, &l, &plain), ANYMAX_OK);
    q = request(2, some, 0, 4, 0);
    ck_assert_int_eq(plan(&w, &q, &l, &plain), ANYMAX_OK);
    ck_assert_int_eq(w.launches, 0);
}
END_TEST

static void add(TCase *cases) {
    tcase_add_loop_test(cases, every_element_once, 0, 8);
    tcase_add_loop_test(cases, huge_sizes, 0, 8);
    tcase_add_test(cases, huge_strides);
    tcase_add_test(cases, too_long);
    tcase_add_test(cases, nothing);
}

int main(void) {
    return suite_main("plan", add);
}
