/* A pretended slow device: no launch asks more of it than it may, and the bits are those of the
 * device as it is. The launches are watched on their way to the backend. */
#include "support/cases.h"

#include "device.h"
#include "work.h"

#include <stdio.h>
#include <string.h>

#define TILE 64 /* the smallest piece of a product; of rows it is one part of one */

static struct {
    const am_backend *real;
    am_backend table;
    uint64_t most; /* that a launch may ask for */
    int block;     /* rows that stay together */
    int launches;
    char text[200];
} spy;

static anymax_status watch_row(am_backend_stream *stream, const am_row_launch *launch) {
    const am_row_args *a = &launch->args;
    uint64_t work = am_row_work(&am_program_table[launch->program], a);
    spy.launches++;
    if (work > spy.most && (a->rows - a->row0 > spy.block || a->parts > 1) && !spy.text[0])
        snprintf(spy.text, sizeof spy.text, "%s: rows %d to %d, %d parts: %llu of %llu",
                 am_program_table[launch->program].name, a->row0, a->rows, a->parts,
                 (unsigned long long)work, (unsigned long long)spy.most);
    return spy.real->row(stream, launch);
}

static anymax_status watch_product(am_backend_stream *stream, const am_product_launch *launch) {
    const am_product_args *a = &launch->args;
    uint64_t work = am_product_work(a);
    spy.launches++;
    if (work > spy.most && (a->m > TILE || a->n > TILE || a->batch > 1) && !spy.text[0])
        snprintf(spy.text, sizeof spy.text, "product: %d x %d x %d, %d times: %llu of %llu", a->m,
                 a->n, a->k, a->batch, (unsigned long long)work, (unsigned long long)spy.most);
    return spy.real->product(stream, launch);
}

static void open_watched(test_device *d, const char *pretend) {
    test_device_open(d, pretend, 0);
    spy.real = d->device->backend;
    spy.table = *spy.real;
    spy.table.row = watch_row;
    spy.table.product = watch_product;
    d->device->backend = &spy.table;
    spy.block = (int)d->device->limits.row_block;
    spy.text[0] = 0;
}

static const op_case cases[] = {
    {.name = "short rows", .op = "softmax", .rank = 2, .shape = {516, 7}},
    {.name = "short rows, 16 bit",
     .op = "softmax",
     .rank = 2,
     .shape = {300, 33},
     .in = ANYMAX_BF16,
     .out = ANYMAX_BF16,
     .accumulate = true,
     .host = true},
    {.name = "rows on chip",
     .op = "log_softmax",
     .rank = 2,
     .shape = {90, 700},
     .bias = SPREAD_SHORT,
     .layout_in = LAYOUT_ODD,
     .layout_out = LAYOUT_ODD},
    {.name = "strided axis",
     .op = "softmax",
     .rank = 3,
     .shape = {3, 90, 70},
     .axis_back = 1,
     .fill = FILL_MASKED,
     .in = ANYMAX_BF16},
    {.name = "row results", .op = "logsumexp", .rank = 2, .shape = {65, 300}, .host = true},
    {.name = "online", .op = "softmax", .rank = 2, .shape = {110, 2500}},
    {.name = "long rows", .op = "softmax", .rank = 2, .shape = {2, 70000}},
    {.name = "gather",
     .op = "cross_entropy",
     .rank = 2,
     .shape = {200, 150},
     .weight = true,
     .smoothing = 0.1,
     .reduction = "mean",
     .index = ANYMAX_I64},
    {.name = "gather, 16 bit",
     .op = "cross_entropy",
     .rank = 2,
     .shape = {20, 1500},
     .in = ANYMAX_BF16,
     .out = ANYMAX_BF16},
    {.name = "candidates", .op = "entmax15", .rank = 2, .shape = {40, 900}},
    {.name = "row parameter", .op = "entmax", .rank = 2, .shape = {50, 200}, .row_alpha = true},
    {.name = "products",
     .op = "infonce_loss",
     .rank = 2,
     .shape = {150, 70},
     .negatives = 130,
     .symmetric = true},
    {.name = "products, 16 bit",
     .op = "infonce_loss",
     .rank = 2,
     .shape = {140, 33},
     .in = ANYMAX_BF16,
     .out = ANYMAX_BF16,
     .host = true},
    {.name = "long sums", .op = "infonce_loss", .rank = 2, .shape = {3, 270000}},
};

/* Forms of the kernels, and too few bindings: tensors are then packed around the pieces. */
#define CPU 1
#define OPENCL 2
#define VULKAN 4
static const struct {
    int on;
    const char *text;
} forms[] = {
    {CPU | OPENCL | VULKAN, ""},
    {CPU | OPENCL | VULKAN, "skeleton=split"},
    {CPU | OPENCL, "skeleton=across"},
    {CPU | OPENCL, "buffers=4"},
    {VULKAN, "shape=gpu"}, /* PoCL would compile for minutes */
};

/* Runs a case forward and backward; returns how many launches that took. */
static int run_case(const test_device *d, const op_case *c, uint64_t most, uint64_t *bits) {
    d->device->limits.launch_work = spy.most = most;
    spy.launches = 0;
    for (int back = 0; back < 2; back++) bits[back] = op_case_run(d, c, back != 0);
    ck_assert_msg(!spy.text[0], "%s, pretending '%s': too much work: %s", c->name, d->pretend,
                  spy.text);
    return spy.launches;
}

/* Both runs are of one device, which compiles its kernels once. */
START_TEST(cut_is_uncut) {
    const uint64_t most = 300 << 10;
    const char *form = forms[_i].text;
    double start = test_now();
    test_device d;
    char text[96];
    int here = test_is_backend("cpu") ? CPU : test_is_backend("vulkan") ? VULKAN : OPENCL;
    int launches = 0, uncut = 0;
    if (!(forms[_i].on & here)) return;
    snprintf(text, sizeof text, "%s%swork=300k", form, *form ? "," : "");
    open_watched(&d, text);
    ck_assert_uint_eq(d.device->limits.launch_work, most);
    for (int i = 0; i < COUNT(cases); i++) {
        uint64_t bits[2], want[2];
        /* lavapipe takes 0.1 s for a kernel, compiled before or not */
        if (here == VULKAN && _i > 0 && i % 2) continue;
        launches += run_case(&d, &cases[i], most, bits);
        uncut += run_case(&d, &cases[i], UINT64_MAX, want);
        ck_assert_msg(bits[0] == want[0] && bits[1] == want[1],
                      "%s, pretending '%s': other bits than without the bound", cases[i].name,
                      text);
    }
    test_device_close(&d);
    ck_assert_msg(launches > 3 * uncut, "'%s': %d launches, %d without the bound", text, launches,
                  uncut);
    printf("%6.1f s  '%s': %d launches, %d without the bound\n", test_now() - start, text, launches,
           uncut);
}
END_TEST

/* Copies are cut too, into pieces of 64 KiB here, between offsets of any alignment. */
START_TEST(copies) {
    enum { SIZE = 200003, FROM = 5, TO = 11 };
    static unsigned char data[SIZE + 64], back[SIZE + 64];
    anymax_buffer *from, *to;
    test_device d;
    test_device_open(&d, "work=1", 0);
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * 167 >> 3);
    ck_assert_int_eq(anymax_buffer_create(d.device, sizeof data, &from), ANYMAX_OK);
    ck_assert_int_eq(anymax_buffer_create(d.device, sizeof data, &to), ANYMAX_OK);
    ck_assert_int_eq(anymax_buffer_write(d.stream, from, 0, data, sizeof data), ANYMAX_OK);
    ck_assert_int_eq(anymax_buffer_write(d.stream, to, 0, back, sizeof back), ANYMAX_OK);
    ck_assert_int_eq(anymax_buffer_copy(d.stream, to, TO, from, FROM, SIZE), ANYMAX_OK);
    ck_assert_int_eq(anymax_buffer_read(d.stream, to, 0, back, sizeof back), ANYMAX_OK);
    ck_assert_int_eq(anymax_stream_sync(d.stream), ANYMAX_OK);
    ck_assert(memcmp(back + TO, data + FROM, SIZE) == 0);
    for (size_t i = 0; i < sizeof back; i++)
        if (i < TO || i >= TO + SIZE) ck_assert_uint_eq(back[i], 0);
    anymax_buffer_release(from);
    anymax_buffer_release(to);
    test_device_close(&d);
}
END_TEST

static void add(Suite *suite) {
    TCase *all = tcase_create("watchdog");
    tcase_add_loop_test(all, cut_is_uncut, 0, COUNT(forms));
    tcase_add_test(all, copies);
    suite_add_tcase(suite, all);
}

int main(int argc, char **argv) {
    return test_main(argc, argv, "watchdog", add);
}
