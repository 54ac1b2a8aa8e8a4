/* ops.c: `anymax ops`: what the registry knows. */
#include "call.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

static cJSON *json_tensors(const anymax_op_tensor *list, bool inputs) {
    cJSON *array = cJSON_CreateArray();
    size_t i;
    for (i = 0; i < ANYMAX_OP_MAX_TENSORS && list[i].name; i++) {
        cJSON *t = cJSON_CreateObject();
        cJSON_AddStringToObject(t, "name", list[i].name);
        cJSON_AddStringToObject(t, "shape", list[i].shape ? list[i].shape : "");
        cJSON_AddStringToObject(t, "type", op_class_name(list[i].type));
        cJSON_AddBoolToObject(t, "optional", list[i].optional);
        if (inputs) cJSON_AddBoolToObject(t, "differentiable", list[i].differentiable);
        cJSON_AddItemToArray(array, t);
    }
    return array;
}

static cJSON *json_params(const anymax_op_param *list) {
    cJSON *array = cJSON_CreateArray();
    size_t i;
    for (i = 0; i < ANYMAX_OP_MAX_TENSORS && list[i].name; i++) {
        cJSON *p = cJSON_CreateObject();
        cJSON *standard = list[i].standard ? cJSON_Parse(list[i].standard) : NULL;
        cJSON_AddStringToObject(p, "name", list[i].name);
        cJSON_AddStringToObject(p, "type", op_value_name(list[i].type));
        cJSON_AddItemToObject(p, "default", standard ? standard : cJSON_CreateNull());
        cJSON_AddStringToObject(p, "range", list[i].range ? list[i].range : "");
        if (list[i].also) cJSON_AddStringToObject(p, "input", list[i].also);
        cJSON_AddItemToArray(array, p);
    }
    return array;
}

static cJSON *json_op(const anymax_op_info *op, char **devices) {
    cJSON *o = cJSON_CreateObject(), *gradients = cJSON_CreateArray(), *on = cJSON_CreateArray();
    size_t i;
    cJSON_AddStringToObject(o, "name", op->name);
    cJSON_AddStringToObject(o, "group", op->group);
    cJSON_AddStringToObject(o, "summary", op->summary ? op->summary : "");
    cJSON_AddStringToObject(o, "formula", op->formula ? op->formula : "");
    cJSON_AddStringToObject(o, "source", op->source ? op->source : "");
    cJSON_AddItemToObject(o, "inputs", json_tensors(op->inputs, true));
    cJSON_AddItemToObject(o, "params", json_params(op->params));
    cJSON_AddItemToObject(o, "outputs", json_tensors(op->outputs, false));
    for (i = 0; i < ANYMAX_OP_MAX_TENSORS && op->inputs[i].name; i++)
        if (op->inputs[i].differentiable)
            cJSON_AddItemToArray(gradients, cJSON_CreateString(op->inputs[i].name));
    cJSON_AddItemToObject(o, "gradients", gradients);
    /* Every operation runs on every device: a plan needs only the kernels that each backend has. */
    for (; devices && *devices; devices++) cJSON_AddItemToArray(on, cJSON_CreateString(*devices));
    cJSON_AddItemToObject(o, "devices", on);
    return o;
}

static int print_json(const anymax_op_info *only) {
    char **devices = cmd_list_devices(false), *text;
    cJSON *all = cJSON_CreateArray();
    size_t i;
    for (i = 0; i < anymax_op_count(); i++)
        if (!only || only == anymax_op_at(i))
            cJSON_AddItemToArray(all, json_op(anymax_op_at(i), devices));
    text = cJSON_Print(all);
    cJSON_Delete(all);
    cmd_free_list(devices);
    if (!text) return cmd_error("no memory");
    puts(text);
    cJSON_free(text);
    return CMD_OK;
}

static void print_tensors(const char *title, const anymax_op_tensor *list, bool inputs) {
    size_t i;
    for (i = 0; i < ANYMAX_OP_MAX_TENSORS && list[i].name; i++)
        printf("%-11s%-12s %-18s %s%s%s\n", i ? "" : title, list[i].name,
               list[i].shape ? list[i].shape : "", op_class_name(list[i].type),
               list[i].optional ? ", optional" : "",
               inputs && list[i].differentiable ? ", has a gradient" : "");
}

static void print_op(const anymax_op_info *op) {
    size_t i;
    printf("%s (%s): %s\n\n", op->name, op->group, op->summary ? op->summary : "");
    if (op->formula && *op->formula) printf("  %s\n\n", op->formula);
    print_tensors("inputs", op->inputs, true);
    for (i = 0; i < ANYMAX_OP_MAX_TENSORS && op->params[i].name; i++) {
        const anymax_op_param *p = &op->params[i];
        printf("%-11s%-16s %s, default %s%s%s%s%s\n", i ? "" : "parameters", p->name,
               op_value_name(p->type), p->standard && *p->standard ? p->standard : "absent",
               p->range && *p->range ? ", " : "", p->range ? p->range : "",
               p->also ? "; per row through input " : "", p->also ? p->also : "");
    }
    print_tensors("outputs", op->outputs, false);
    if (op->source && *op->source) printf("source     %s\n", op->source);
}

static void print_list(void) {
    cmd_table table;
    size_t i, j;
    cmd_table_start(&table, "llll");
    cmd_table_add(&table, "operation\tgroup\tgradients\tsummary");
    for (i = 0; i < anymax_op_count(); i++) {
        const anymax_op_info *op = anymax_op_at(i);
        char gradients[128] = "";
        for (j = 0; j < ANYMAX_OP_MAX_TENSORS && op->inputs[j].name; j++) {
            size_t used = strlen(gradients);
            if (op->inputs[j].differentiable)
                snprintf(gradients + used, sizeof gradients - used, "%s%s", used ? ", " : "",
                         op->inputs[j].name);
        }
        cmd_table_add(&table, "%s\t%s\t%s\t%s", op->name, op->group, gradients,
                      op->summary ? op->summary : "");
    }
    cmd_table_print(&table);
}

/* One Markdown page for all operations: docs/operations.md is this, and a test keeps it so. */
static void markdown_tensors(const char *title, const anymax_op_tensor *list, bool inputs) {
    size_t i;
    for (i = 0; i < ANYMAX_OP_MAX_TENSORS && list[i].name; i++)
        printf("| %s | `%s` | %s | %s%s%s | |\n", title, list[i].name,
               list[i].shape ? list[i].shape : "", op_class_name(list[i].type),
               list[i].optional ? ", optional" : "",
               inputs && list[i].differentiable ? ", has a gradient" : "");
}

static void print_markdown(void) {
    size_t i, j;
    puts("# Operations\n\nWritten by `anymax ops --markdown` from the registry. Every operation "
         "runs forward "
         "and backward on the CPU, OpenCL\nand Vulkan, with f32, f16 and bf16 tensors of any "
         "strides.\n\n"
         "| operation | group | what it is |\n| --- | --- | --- |");
    for (i = 0; i < anymax_op_count(); i++)
        printf("| [`%s`](#%s) | %s | %s |\n", anymax_op_at(i)->name, anymax_op_at(i)->name,
               anymax_op_at(i)->group, anymax_op_at(i)->summary);
    for (i = 0; i < anymax_op_count(); i++) {
        const anymax_op_info *op = anymax_op_at(i);
        printf("\n## %s\n\n%s\n\n    %s\n\n", op->name, op->summary, op->formula);
        puts("| | name | shape or default | type | range |\n| --- | --- | --- | --- | --- |");
        markdown_tensors("input", op->inputs, true);
        for (j = 0; j < ANYMAX_OP_MAX_TENSORS && op->params[j].name; j++) {
            const anymax_op_param *p = &op->params[j];
            printf("| parameter | `%s` | %s | %s | %s%s |\n", p->name,
                   *p->standard ? p->standard : "absent", op_value_name(p->type), p->range,
                   p->also ? "; or an input, one a row" : "");
        }
        markdown_tensors("output", op->outputs, false);
        printf("\nSource: %s.\n", op->source);
    }
}

int cmd_ops(int argc, const char **argv) {
    static const cmd_help help = {
        "ops", "[OPTION...] [NAME]",
        "Lists the operations, or describes one: inputs, parameters, outputs, gradients, source.\n",
        "  anymax ops\n  anymax ops entmax\n  anymax ops --json\n"};
    int json = 0, markdown = 0, code;
    struct poptOption options[] = {
        {"json", 0, POPT_ARG_NONE, &json, 0, "Print a JSON array of objects", NULL},
        {"markdown", 0, POPT_ARG_NONE, &markdown, 0, "Print a page on all operations", NULL},
        POPT_TABLEEND};
    const anymax_op_info *op = NULL;
    const char *name;
    poptContext context;
    if (!cmd_parse(&help, argc, argv, options, &context, &code)) goto done;
    name = poptGetArg(context);
    code = CMD_FAILED;
    if (name && poptPeekArg(context)) {
        code = cmd_usage("ops", "one operation at most, not also '%s'", poptPeekArg(context));
    } else if (!name || (op = call_find_op(name)) != NULL) {
        code = CMD_OK;
        if (json)
            code = print_json(op);
        else if (markdown)
            print_markdown();
        else if (op)
            print_op(op);
        else
            print_list();
    }
done:
    poptFreeContext(context);
    return code;
}
