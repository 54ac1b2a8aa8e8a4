/* Workspaces: what a query says is what a call needs, the caller's own workspace, streams that only
 * plan. */
#include "support/cases.h"
#include "support/numbers.h"

#include <string.h>

#define F ANYMAX_F32

typedef struct space_case {
    const char *name;
    op_case c;
    bool backward;
} space_case;

static const space_case spaces[] = {
    {"symmetric infonce",
     {.op = "infonce_loss", .rank = 2, .shape = {40, 12}, .symmetric = true},
     true},
    {"a split row", {.op = "softmax", .rank = 2, .shape = {1, 300000}}, false},
    {"entmax backward", {.op = "entmax", .rank = 2, .shape = {30, 100}, .row_alpha = true}, true},
    {"a mean", {.op = "cross_entropy", .rank = 2, .shape = {300, 10}, .reduction = "mean"}, false},
};

static anymax_status through(trial *t, anymax_stream *stream) {
    anymax_named_tensor tensors[TRIAL_TENSORS];
    for (int i = 0; i < t->count; i++) {
        tensors[i].name = t->probes[i].name;
        tensors[i].tensor = &t->probes[i].tensor;
    }
    return anymax_call(stream, t->op, tensors, (size_t)t->count, t->params, (size_t)t->param_count);
}

static size_t asked; /* what the query said */

/* Asks for the workspace without running, then runs in a workspace of just that size, whose
 * surroundings are checked; then in one that is a byte smaller, which must be refused. */
static anymax_status within(trial *t, anymax_stream *unused) {
    anymax_device *device = test_main_device.device;
    anymax_stream_desc desc = {.plan_only = true};
    anymax_stream *stream = NULL;
    anymax_buffer *workspace = NULL;
    anymax_status status, refused_status;
    (void)unused;
    ck_assert_int_eq(anymax_stream_create(device, &desc, &stream), ANYMAX_OK);
    ck_assert_msg(through(t, stream) == ANYMAX_OK, "%s", anymax_error_message());
    asked = anymax_stream_workspace_bytes(stream);
    anymax_stream_release(stream);
    if (asked == 0) return through(t, test_main_device.stream);
    desc.plan_only = false;
    if (asked > 1) {
        ck_assert_int_eq(anymax_buffer_create(device, asked - 1, &workspace), ANYMAX_OK);
        desc.workspace = workspace;
        status = anymax_stream_create(device, &desc, &stream);
        refused_status = status == ANYMAX_OK ? through(t, stream) : status;
        ck_assert_msg(refused_status == ANYMAX_ERROR_INVALID,
                      "a workspace that is a byte short: %s", anymax_status_string(refused_status));
        anymax_stream_release(status == ANYMAX_OK ? stream : NULL);
        anymax_buffer_release(workspace);
    }
    ck_assert_int_eq(anymax_buffer_create(device, asked, &workspace), ANYMAX_OK);
    desc.workspace = workspace;
    ck_assert_int_eq(anymax_stream_create(device, &desc, &stream), ANYMAX_OK);
    status = through(t, stream);
    ck_assert_int_eq(anymax_stream_sync(stream), ANYMAX_OK);
    ck_assert_uint_eq(anymax_stream_workspace_bytes(stream), asked);
    anymax_stream_release(stream);
    anymax_buffer_release(workspace);
    return status;
}

START_TEST(workspace) {
    op_case c = spaces[_i].c;
    c.name = spaces[_i].name;
    op_case_run_with(&test_main_device, &c, spaces[_i].backward, within);
    ck_assert_uint_gt(asked, 0);
}
END_TEST

/* A stream that only plans runs nothing and refuses copies. */
static float out_of_reach; /* of a stream that only plans: never touched */

START_TEST(plan_only) {
    static const int64_t shape[1] = {4};
    float x[4] = {1, 2, 3, 4}, y[4] = {-1, -1, -1, -1};
    anymax_tensor tx = anymax_host_tensor(x, F, 1, shape), ty = anymax_host_tensor(y, F, 1, shape);
    anymax_stream_desc desc = {.plan_only = true};
    anymax_map m = {ANYMAX_SOFTMAX};
    anymax_stream *stream;
    anymax_buffer *buffer;
    ck_assert_int_eq(anymax_stream_create(test_main_device.device, &desc, &stream), ANYMAX_OK);
    ck_assert_int_eq(anymax_buffer_create(test_main_device.device, 16, &buffer), ANYMAX_OK);
    ck_assert_int_eq(anymax_map_forward(stream, &m, &tx, &ty), ANYMAX_OK);
    ck_assert_int_eq(anymax_stream_sync(stream), ANYMAX_OK);
    for (int i = 0; i < 4; i++) ck_assert(y[i] == -1);
    ck_assert_int_eq(anymax_buffer_write(stream, buffer, 0, x, 16), ANYMAX_ERROR_INVALID);
    anymax_buffer_release(buffer);
    anymax_stream_release(stream);
}
END_TEST

/* What would take more launches than anyone can wait for is refused within a second or so. */
START_TEST(endless) {
    static const int64_t shape[2] = {(int64_t)1 << 40, (int64_t)1 << 20};
    anymax_tensor t = anymax_host_tensor(&out_of_reach, F, 2, shape);
    anymax_stream_desc desc = {.plan_only = true};
    anymax_map m = {ANYMAX_SOFTMAX};
    anymax_stream *stream;
    anymax_status status;
    ck_assert_int_eq(anymax_stream_create(test_main_device.device, &desc, &stream), ANYMAX_OK);
    status = anymax_map_forward(stream, &m, &t, &t);
    ck_assert(status == ANYMAX_ERROR_UNSUPPORTED || status == ANYMAX_ERROR_OUT_OF_MEMORY);
    ck_assert(strlen(anymax_error_message()) > 0);
    anymax_stream_release(stream);
}
END_TEST

static void add(Suite *suite) {
    TCase *spaces_case = tcase_create("workspace");
    tcase_add_loop_test(spaces_case, workspace, 0, COUNT(spaces));
    tcase_add_test(spaces_case, plan_only);
    tcase_add_test(spaces_case, endless);
    suite_add_tcase(suite, spaces_case);
}

int main(int argc, char **argv) {
    return test_main(argc, argv, "workspace", add);
}
