/* Every operation of the registry against its golden file, by name: forward, backward, f32 for all
 * cases, f16 and bf16 for those whose inputs are exact in them. Knows no operation: one that is
 * added to the registry needs its file and nothing here. ANYMAX_TEST_OP restricts it to one
 * operation, ANYMAX_TEST_HALF=0 or 1 to every other one. */
#include "support/golden.h"
#include "support/numbers.h"
#include "support/trial.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct run {
    const anymax_op_info *op;
    const golden_case *c;
    anymax_dtype dtype;
    bool backward, saved; /* saved: outputs are given to backward, which may write them */
    int turn;             /* layouts and index types differ from case to case */
} run;

static const anymax_op_tensor *find_tensor(const anymax_op_tensor *list, const char *name) {
    for (int i = 0; i < ANYMAX_OP_MAX_TENSORS && list[i].name != NULL; i++)
        if (strcmp(list[i].name, name) == 0) return &list[i];
    return NULL;
}

static const anymax_op_param *find_param(const anymax_op_info *op, const char *name) {
    for (int i = 0; i < ANYMAX_OP_MAX_TENSORS && op->params[i].name != NULL; i++)
        if (strcmp(op->params[i].name, name) == 0) return &op->params[i];
    return NULL;
}

static bool starts(const char *name, const char *with) {
    return strncmp(name, with, strlen(with)) == 0;
}

/* A number among the case's parameters, else the registry's default, else `otherwise`. */
static double number(const anymax_op_info *op, const cJSON *params, const char *name,
                     double otherwise) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(params, name);
    const anymax_op_param *p = find_param(op, name);
    if (cJSON_IsNumber(item)) return item->valuedouble;
    return p && p->standard && *p->standard ? strtod(p->standard, NULL) : otherwise;
}

static void give_params(trial *t, const anymax_op_info *op, const cJSON *params) {
    const cJSON *item;
    cJSON_ArrayForEach(item, params) {
        const anymax_op_param *p = find_param(op, item->string);
        ck_assert_msg(p != NULL, "%s: the registry has no parameter '%s'", op->name, item->string);
        if (cJSON_IsBool(item))
            trial_bool(t, item->string, cJSON_IsTrue(item));
        else if (cJSON_IsString(item))
            trial_string(t, item->string, item->valuestring);
        else if (p->type == ANYMAX_VALUE_INT)
            trial_int(t, item->string, (int64_t)item->valuedouble);
        else if (cJSON_IsNumber(item))
            trial_float(t, item->string, item->valuedouble);
    }
}

static anymax_dtype index_type(const golden_tensor *tensor, int turn) {
    bool small = true;
    for (size_t i = 0; i < tensor->count; i++)
        if (tensor->value[i] < 0 || tensor->value[i] > 255) small = false;
    if (turn % 3 == 2 && small) return ANYMAX_U8;
    return turn % 3 == 1 ? ANYMAX_I64 : ANYMAX_I32;
}

static anymax_dtype type_of(const run *r, const golden_tensor *tensor, const char *name) {
    const anymax_op_tensor *known = find_tensor(r->op->inputs, name);
    if (starts(tensor->name, "in.")) {
        ck_assert_msg(known != NULL, "%s: the registry has no input '%s'", r->op->name, name);
        /* each combination is a kernel of its own on some devices: in 16 bit all take i32 */
        if (known->type == ANYMAX_CLASS_INDEX)
            return index_type(tensor, r->dtype == ANYMAX_F32 ? r->turn : 0);
        if (known->type == ANYMAX_CLASS_MASK) return r->turn % 2 ? ANYMAX_U8 : ANYMAX_BOOL;
    }
    return r->dtype;
}

static void give_tensors(trial *t, const run *r) {
    static const layout layouts[] = {LAYOUT_PACKED, LAYOUT_GAPS, LAYOUT_ODD, LAYOUT_PERMUTED};
    for (int i = 0; i < r->c->count; i++) {
        const golden_tensor *g = &r->c->tensors[i];
        const io_entry *e = g->entry;
        const char *name = strchr(g->name, '.') + 1;
        layout layout =
            r->dtype == ANYMAX_F32 ? layouts[(r->turn + i) % COUNT(layouts)] : LAYOUT_ODD;
        anymax_dtype dtype = type_of(r, g, name);
        if (starts(g->name, "in."))
            trial_input(t, name, dtype, e->rank, e->shape, layout, g->value);
        else if (starts(g->name, "out.") && (!r->backward || (r->saved && r->op->value_and_grad)))
            trial_output(t, name, dtype, e->rank, e->shape, layout, g->value);
        else if (starts(g->name, "out.") && r->saved)
            trial_input(t, name, dtype, e->rank, e->shape, layout, g->value);
        else if (starts(g->name, "up.") && r->backward)
            trial_input(t, g->name, dtype, e->rank, e->shape, layout, g->value);
        else if (starts(g->name, "grad.") && r->backward)
            trial_output(t, g->name, dtype, e->rank, e->shape, layout, g->value);
    }
}

/* What the tolerance wants to know, from names alone. */
static void give_sizes(trial *t, const run *r, const cJSON *params) {
    const golden_tensor *first = NULL, *alpha = golden_find(r->c, "in.alpha");
    const golden_tensor *y = golden_find(r->c, "out.y");
    for (int i = 0; i < r->c->count; i++) {
        const golden_tensor *g = &r->c->tensors[i];
        if (!starts(g->name, "in.")) continue;
        for (uint32_t d = 0; d < g->entry->rank; d++)
            if (g->entry->shape[d] > t->n) t->n = g->entry->shape[d];
        if (strcmp(g->name, "in.x") == 0) first = g;
    }
    if (first != NULL && first->entry->rank > 0) {
        t->rank = first->entry->rank;
        t->axis = (int64_t)t->rank - 1;
        t->row_len = first->entry->shape[t->axis];
    }
    t->factor = fabs(number(r->op, params, "scale", 1)) / number(r->op, params, "temperature", 1);
    t->alpha = number(r->op, params, "alpha", 0);
    if (alpha != NULL) t->row_alpha = alpha->value;
    if (t->alpha > 0 && r->backward && y != NULL && first != NULL && y->count == first->count)
        t->weights = y->value;
    if (r->saved && !r->op->value_and_grad) t->saved = r->dtype;
    /* logarithms of a prior are larger than the prior */
    if (golden_find(r->c, "in.prior")) t->factor *= 4;
}

static bool has(const golden_case *c, const char *kind) {
    for (int i = 0; i < c->count; i++)
        if (starts(c->tensors[i].name, kind)) return true;
    return false;
}

static bool run_case(const run *r, char *text, size_t size) {
    cJSON *params = cJSON_Parse(r->c->params);
    bool passed;
    trial t = trial_make(&test_main_device, r->op->name, "golden case %s, %s, %s%s", r->c->name,
                         dtype_name(r->dtype), r->backward ? "backward" : "forward",
                         r->saved ? " with outputs" : "");
    ck_assert_msg(params != NULL, "%s/%s: parameters are not JSON", r->op->name, r->c->name);
    give_params(&t, r->op, params);
    give_tensors(&t, r);
    give_sizes(&t, r, params);
    passed = trial_try(&t, text, size);
    trial_end(&t);
    cJSON_Delete(params);
    return passed;
}

/* Forward and backward of one case in one type; appends the first reports. */
static int run_type(run r, anymax_dtype dtype, char *text, size_t size) {
    int failed = 0;
    r.dtype = dtype;
    for (int way = 0; way < 3; way++) {
        size_t used = strlen(text);
        char report[1600] = "";
        r.backward = way > 0;
        r.saved = way == 2;
        if (r.backward && !has(r.c, "grad.")) break;
        if (r.saved && (dtype != ANYMAX_F32 || r.turn % 4 != 0)) break;
        if (run_case(&r, report, sizeof report)) continue;
        failed++;
        if (used + strlen(report) + 1 < size) memcpy(text + used, report, strlen(report) + 1);
    }
    return failed;
}

START_TEST(golden) {
    run r = {anymax_op_at((size_t)_i), NULL, ANYMAX_F32, false, false, _i};
    static char text[2500]; /* Check takes 4 KiB */
    const char *only = getenv("ANYMAX_TEST_OP"), *half = getenv("ANYMAX_TEST_HALF");
    char problem[600];
    io_safetensors file;
    golden_case c;
    int failed = 0, cases = 0;
    text[0] = 0;
    if (half && _i % 2 != atoi(half)) return;
    if (only && strcmp(only, r.op->name) != 0) {
        ck_assert_msg(anymax_op_find(only) != NULL, "there is no operation '%s'", only);
        return;
    }
    ck_assert_msg(golden_open(&file, r.op->name, problem, sizeof problem),
                  "%s has no golden file: %s", r.op->name, problem);
    for (size_t i = 0; golden_load(&file, i, &c); i++, r.turn++, cases++) {
        r.c = &c;
        failed += run_type(r, ANYMAX_F32, text, sizeof text);
        if (golden_is_narrow(&c)) {
            failed += run_type(r, ANYMAX_F16, text, sizeof text);
            failed += run_type(r, ANYMAX_BF16, text, sizeof text);
        }
        golden_free(&c);
    }
    io_safetensors_close(&file);
    ck_assert_msg(cases > 0, "%s: its golden file has no case", r.op->name);
    ck_assert_msg(failed == 0, "%s: %d calls failed; the first:\n%s", r.op->name, failed, text);
}
END_TEST

static void add(Suite *suite) {
    TCase *cases = tcase_create("golden");
    tcase_add_loop_test(cases, golden, 0, (int)anymax_op_count());
    suite_add_tcase(suite, cases);
}

int main(int argc, char **argv) {
    return test_main(argc, argv, "golden", add);
}
