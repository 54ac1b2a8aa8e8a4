/* Maps: every length that is awkward somewhere, every modifier, layout and type, and what must hold
 * of a map whatever its formula. The truth is the double-precision reference. */
#include "support/cases.h"
#include "support/numbers.h"

#include <stdio.h>
#include <string.h>

static const char *const ops[] = {
    "softmax",        "log_softmax",           "logsumexp", "entmax15", "entmax",
    "gumbel_softmax", "logit_adjusted_softmax"};

/* ---------------------------------------------------------------- lengths */

static void run_length(const char *op, int64_t n, int64_t rows, fill fill) {
    char name[64];
    op_case c = {.name = name, .op = op, .rank = 2, .shape = {rows, n}, .fill = fill};
    snprintf(name, sizeof name, "%lld x %lld", (long long)rows, (long long)n);
    op_case_run(&test_main_device, &c, false);
    op_case_run(&test_main_device, &c, true);
}

/* Faults hide just above and below the sizes of lanes, groups, blocks and parts. */
START_TEST(short_lengths) {
    for (int64_t n = 1; n <= 70; n++) run_length(ops[_i], n, 3, n % 2 ? FILL_NORMAL : FILL_MASKED);
}
END_TEST

START_TEST(long_lengths) {
    static const int64_t lengths[] = {100,  127,  128,  129,  255,  256,  257,  511,
                                      512,  513,  768,  1000, 1023, 1024, 1025, 1536,
                                      2047, 2049, 4095, 4097, 8191, 8193};
    for (int i = 0; i < COUNT(lengths); i++) run_length(ops[_i], lengths[i], 2, FILL_NORMAL);
    run_length(ops[_i], 65537, 1, FILL_NORMAL);
}
END_TEST

/* Rows of two million: split and merged on every backend. */
START_TEST(longest) {
    run_length(ops[_i], 2000000, 1, FILL_NORMAL);
}
END_TEST

/* More rows than groups of one dispatch may be on some devices (65,535). */
START_TEST(many_rows) {
    run_length(ops[_i], 4, 70000, FILL_NORMAL);
}
END_TEST

/* ---------------------------------------------------------------- a table */

#define SOFTMAX "softmax"
static const op_case table[] = {
    {.name = "rank 1", .op = SOFTMAX, .rank = 1, .shape = {37}},
    {.name = "rank 6, axis 2",
     .op = SOFTMAX,
     .rank = 6,
     .shape = {2, 3, 17, 2, 1, 3},
     .axis_back = 3},
    {.name = "first axis, 1000 wide", .op = SOFTMAX, .rank = 2, .shape = {9, 1000}, .axis_back = 1},
    {.name = "NCHW", .op = "log_softmax", .rank = 4, .shape = {2, 21, 9, 10}, .axis_back = 2},
    {.name = "NCHW", .op = "entmax15", .rank = 4, .shape = {2, 21, 9, 10}, .axis_back = 2},
    {.name = "NCHW, f16",
     .op = SOFTMAX,
     .rank = 4,
     .shape = {2, 21, 9, 11},
     .axis_back = 2,
     .in = ANYMAX_F16,
     .out = ANYMAX_F16},
    {.name = "NCHW, permuted in memory",
     .op = "logsumexp",
     .rank = 4,
     .shape = {2, 21, 9, 10},
     .axis_back = 2,
     .layout_in = LAYOUT_PERMUTED,
     .layout_out = LAYOUT_GAPS},
    {.name = "every second column",
     .op = SOFTMAX,
     .rank = 2,
     .shape = {3, 65},
     .layout_in = LAYOUT_GAPS,
     .layout_out = LAYOUT_GAPS,
     .in = ANYMAX_BF16,
     .out = ANYMAX_F16},
    {.name = "one row repeated",
     .op = SOFTMAX,
     .rank = 2,
     .shape = {5, 129},
     .layout_in = LAYOUT_REPEAT},
    {.name = "one element repeated",
     .op = "log_softmax",
     .rank = 1,
     .shape = {129},
     .layout_in = LAYOUT_REPEAT},
    {.name = "in place", .op = SOFTMAX, .rank = 2, .shape = {7, 100}, .in_place = "x"},
    {.name = "in place, long", .op = SOFTMAX, .rank = 2, .shape = {1, 200000}, .in_place = "x"},
    {.name = "in place, strided",
     .op = "entmax15",
     .rank = 3,
     .shape = {3, 40, 5},
     .axis_back = 1,
     .layout_in = LAYOUT_GAPS,
     .layout_out = LAYOUT_GAPS,
     .in_place = "x"},
    {.name = "in place, f16",
     .op = "entmax",
     .rank = 2,
     .shape = {6, 33},
     .in = ANYMAX_F16,
     .out = ANYMAX_F16,
     .in_place = "x",
     .alpha = {true, 1.25f}},
    {.name = "host memory",
     .op = SOFTMAX,
     .rank = 2,
     .shape = {7, 333},
     .host = true,
     .layout_in = LAYOUT_GAPS,
     .layout_out = LAYOUT_ROWGAP},
    {.name = "host memory, in place",
     .op = SOFTMAX,
     .rank = 2,
     .shape = {3, 33},
     .host = true,
     .in_place = "x"},
    {.name = "added to", .op = SOFTMAX, .rank = 2, .shape = {5, 130}, .accumulate = true},
    {.name = "added to, f16",
     .op = "log_softmax",
     .rank = 2,
     .shape = {5, 131},
     .accumulate = true,
     .in = ANYMAX_F16,
     .out = ANYMAX_F16},
    {.name = "added to, odd bf16",
     .op = SOFTMAX,
     .rank = 3,
     .shape = {3, 7, 5},
     .axis_back = 1,
     .accumulate = true,
     .in = ANYMAX_BF16,
     .out = ANYMAX_BF16,
     .layout_out = LAYOUT_GAPS},
    {.name = "scale 0.3 near 1e4",
     .op = SOFTMAX,
     .rank = 2,
     .shape = {4, 50},
     .fill = FILL_OFFSET,
     .scale = {true, 0.3f}},
    {.name = "negative scale",
     .op = SOFTMAX,
     .rank = 2,
     .shape = {4, 50},
     .fill = FILL_MASKED,
     .scale = {true, -2.0f}},
    {.name = "scale 0",
     .op = "log_softmax",
     .rank = 2,
     .shape = {9, 50},
     .fill = FILL_MASKED,
     .scale = {true, 0.0f}},
    {.name = "scale 0, poisoned",
     .op = SOFTMAX,
     .rank = 2,
     .shape = {9, 50},
     .fill = FILL_POISON,
     .scale = {true, 0.0f}},
    {.name = "a scale for each row",
     .op = SOFTMAX,
     .rank = 3,
     .shape = {3, 4, 50},
     .typed = true,
     .row_scale = true},
    {.name = "a scale for each row, middle axis",
     .op = "entmax15",
     .rank = 3,
     .shape = {3, 20, 4},
     .axis_back = 1,
     .typed = true,
     .row_scale = true,
     .in = ANYMAX_F16},
    {.name = "bias",
     .op = SOFTMAX,
     .rank = 2,
     .shape = {4, 50},
     .typed = true,
     .bias = SPREAD_FULL},
    {.name = "masking bias",
     .op = SOFTMAX,
     .rank = 2,
     .shape = {8, 50},
     .typed = true,
     .bias = SPREAD_FULL,
     .fill = FILL_MASKED},
    {.name = "bias of a row",
     .op = "log_softmax",
     .rank = 3,
     .shape = {3, 4, 50},
     .typed = true,
     .bias = SPREAD_ROW,
     .fill = FILL_MASKED},
    {.name = "bias of a column",
     .op = "logsumexp",
     .rank = 3,
     .shape = {3, 4, 50},
     .typed = true,
     .bias = SPREAD_COLUMN},
    {.name = "bias without leading axes",
     .op = SOFTMAX,
     .rank = 3,
     .shape = {3, 4, 50},
     .typed = true,
     .bias = SPREAD_SHORT},
    {.name = "bias and noise and a scale a row",
     .op = "entmax",
     .rank = 2,
     .shape = {6, 70},
     .typed = true,
     .bias = SPREAD_ROW,
     .noise = SPREAD_FULL,
     .row_scale = true},
    {.name = "alpha 1", .op = "entmax", .rank = 2, .shape = {4, 60}, .alpha = {true, 1.0f}},
    {.name = "alpha 1.0000001",
     .op = "entmax",
     .rank = 2,
     .shape = {4, 60},
     .alpha = {true, 1.0000001f}},
    {.name = "alpha 1.0001", .op = "entmax", .rank = 2, .shape = {4, 60}, .alpha = {true, 1.0001f}},
    {.name = "alpha 1.25", .op = "entmax", .rank = 2, .shape = {4, 60}, .alpha = {true, 1.25f}},
    {.name = "alpha 2", .op = "entmax", .rank = 2, .shape = {4, 60}, .alpha = {true, 2.0f}},
    {.name = "alpha 4", .op = "entmax", .rank = 2, .shape = {4, 60}, .alpha = {true, 4.0f}},
    {.name = "alpha 10", .op = "entmax", .rank = 2, .shape = {4, 60}, .alpha = {true, 10.0f}},
    {.name = "alpha for each row",
     .op = "entmax",
     .rank = 3,
     .shape = {3, 4, 60},
     .row_alpha = true},
    {.name = "alpha for each row, first axis",
     .op = "entmax",
     .rank = 2,
     .shape = {60, 7},
     .axis_back = 1,
     .row_alpha = true,
     .typed = true},
    {.name = "alpha alone has a gradient",
     .op = "entmax",
     .rank = 2,
     .shape = {5, 60},
     .row_alpha = true,
     .only = "grad.alpha"},
    {.name = "x alone has a gradient",
     .op = "entmax",
     .rank = 2,
     .shape = {5, 60},
     .row_alpha = true,
     .only = "grad.x"},
    {.name = "large support", .op = "entmax15", .rank = 2, .shape = {3, 3000}, .fill = FILL_NEAR},
    {.name = "all equal", .op = "entmax15", .rank = 2, .shape = {6, 1000}, .fill = FILL_EQUAL},
    {.name = "ties", .op = "entmax15", .rank = 2, .shape = {6, 100}, .fill = FILL_TIES},
    {.name = "all equal",
     .op = "entmax",
     .rank = 2,
     .shape = {6, 1000},
     .fill = FILL_EQUAL,
     .alpha = {true, 2.0f}},
    {.name = "from saved y", .op = "entmax15", .rank = 2, .shape = {5, 77}, .give_saved = true},
    {.name = "from saved y, f16",
     .op = "entmax15",
     .rank = 2,
     .shape = {5, 77},
     .give_saved = true,
     .in = ANYMAX_F16,
     .out = ANYMAX_F16},
    {.name = "from saved y",
     .op = "entmax",
     .rank = 2,
     .shape = {5, 77},
     .give_saved = true,
     .row_alpha = true},
    {.name = "poisoned rows", .op = SOFTMAX, .rank = 2, .shape = {11, 40}, .fill = FILL_POISON},
    {.name = "poisoned rows", .op = "entmax", .rank = 2, .shape = {11, 40}, .fill = FILL_POISON},
    {.name = "poisoned rows, first axis",
     .op = "log_softmax",
     .rank = 2,
     .shape = {40, 11},
     .axis_back = 1,
     .fill = FILL_POISON},
    {.name = "poisoned long rows",
     .op = "logsumexp",
     .rank = 2,
     .shape = {3, 50000},
     .fill = FILL_POISON},
};

START_TEST(table_case) {
    op_case_run(&test_main_device, &table[_i], false);
    op_case_run(&test_main_device, &table[_i], true);
}
END_TEST

/* ---------------------------------------------------------------- zero sizes */

/* Every op with each dimension 0 in turn: success, and no byte touched. */
START_TEST(zero_sizes) {
    static const int64_t shapes[][3] = {{0, 4, 5}, {3, 0, 5}, {3, 4, 0}, {0, 0, 0}};
    for (int i = 0; i < COUNT(shapes); i++)
        for (int axis = 0; axis < 3; axis++) {
            op_case c = {.name = "a dimension of 0",
                         .op = ops[_i],
                         .rank = 3,
                         .axis_back = axis,
                         .shape = {shapes[i][0], shapes[i][1], shapes[i][2]}};
            op_case_run(&test_main_device, &c, false);
            op_case_run(&test_main_device, &c, true);
            c.accumulate = c.host = true;
            op_case_run(&test_main_device, &c, true);
        }
}
END_TEST

static void add(Suite *suite) {
    TCase *lengths = tcase_create("lengths"), *cases = tcase_create("table");
    tcase_add_loop_test(lengths, short_lengths, 0, COUNT(ops));
    tcase_add_loop_test(lengths, long_lengths, 0, COUNT(ops));
    tcase_add_loop_test(lengths, longest, 0, 4);
    tcase_add_loop_test(lengths, many_rows, 0, COUNT(ops));
    suite_add_tcase(suite, lengths);
    tcase_add_loop_test(cases, table_case, 0, COUNT(table));
    tcase_add_loop_test(cases, zero_sizes, 0, COUNT(ops));
    suite_add_tcase(suite, cases);
}

int main(int argc, char **argv) {
    return test_main(argc, argv, "map", add);
}
