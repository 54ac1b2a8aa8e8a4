/* devices.c: `anymax devices`. */
#include "command.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *type_name(anymax_device_type type) {
    static const char *const names[] = {"cpu", "gpu", "integrated", "other"};
    return (unsigned)type < 4 ? names[type] : "other";
}

typedef struct listing {
    cmd_table table, drivers;
    cJSON *array; /* NULL: for people */
    size_t missing;
    char reasons[16][1100];
} listing;

static void add_json(cJSON *array, const anymax_device_info *info) {
    cJSON *d = cJSON_CreateObject();
    cJSON_AddStringToObject(d, "selector", info->selector);
    cJSON_AddStringToObject(d, "backend", info->backend);
    cJSON_AddStringToObject(d, "name", info->name);
    cJSON_AddStringToObject(d, "type", type_name(info->type));
    cJSON_AddStringToObject(d, "driver", info->driver);
    cJSON_AddStringToObject(d, "loader", info->loader);
    cJSON_AddStringToObject(d, "uuid", info->uuid);
    cJSON_AddStringToObject(d, "probe", info->probe);
    cJSON_AddNumberToObject(d, "vendor", info->vendor);
    cJSON_AddNumberToObject(d, "compute_units", info->compute_units);
    cJSON_AddNumberToObject(d, "memory_bytes", (double)info->memory_bytes);
    cJSON_AddNumberToObject(d, "max_alloc_bytes", (double)info->max_alloc_bytes);
    cJSON_AddNumberToObject(d, "max_binding_bytes", (double)info->max_binding_bytes);
    cJSON_AddBoolToObject(d, "storage16", info->storage16);
    cJSON_AddItemToArray(array, d);
}

static void add_rows(listing *list, const anymax_device_info *info) {
    char memory[32] = "-";
    if (info->memory_bytes)
        snprintf(memory, sizeof memory, "%.1f GiB", (double)info->memory_bytes / 1073741824.0);
    cmd_table_add(&list->table, "%s\t%s\t%" PRIu32 "\t%s\t%s\t%s", info->selector,
                  type_name(info->type), info->compute_units, memory, info->name, info->driver);
    if (!*info->loader) return;
    /* Which library answered tells why two programs see different devices. */
    if (list->drivers.cells == 0)
        cmd_table_add(&list->drivers, "device\tloader\tuuid\tdriver probed");
    cmd_table_add(&list->drivers, "%s\t%s\t%s\t%s", info->selector, info->loader,
                  *info->uuid ? info->uuid : "-", *info->probe ? info->probe : "-");
}

static bool list_one(void *user, const anymax_device_info *info, const char *reason) {
    listing *list = user;
    if (!info) {
        if (list->missing < sizeof list->reasons / sizeof *list->reasons)
            snprintf(list->reasons[list->missing++], sizeof *list->reasons, "%s",
                     reason ? reason : "no reason known");
    } else if (list->array) {
        add_json(list->array, info);
    } else {
        add_rows(list, info);
    }
    return true;
}

static int print_json(listing *list) {
    cJSON *all = cJSON_CreateObject(), *missing = cJSON_CreateArray();
    size_t i;
    char *text;
    cJSON_AddItemToObject(all, "devices", list->array);
    for (i = 0; i < list->missing; i++)
        cJSON_AddItemToArray(missing, cJSON_CreateString(list->reasons[i]));
    cJSON_AddItemToObject(all, "unusable", missing);
    text = cJSON_Print(all);
    cJSON_Delete(all);
    if (!text) return cmd_error("no memory");
    puts(text);
    cJSON_free(text);
    return CMD_OK;
}

int cmd_devices(int argc, const char **argv) {
    static const cmd_help help = {
        "devices", "[OPTION...]",
        "Lists the devices that can be used, with the selector that names each of them, and\n"
        "gives the reason for every backend that cannot be used.\n",
        "  anymax devices\n  anymax run softmax --device vulkan:0 --in x=a.npy\n"};
    int json = 0, code;
    struct poptOption options[] = {
        {"json", 0, POPT_ARG_NONE, &json, 0, "Print JSON: {devices: [...], unusable: [...]}", NULL},
        POPT_TABLEEND};
    listing list = {0};
    poptContext context;
    size_t i;
    if (!cmd_parse(&help, argc, argv, options, &context, &code)) goto done;
    if (poptPeekArg(context)) {
        code = cmd_usage("devices", "'%s' is not expected here", poptPeekArg(context));
        goto done;
    }
    if (json) list.array = cJSON_CreateArray();
    cmd_table_start(&list.table, "llrrll");
    cmd_table_start(&list.drivers, "llll");
    if (!json) cmd_table_add(&list.table, "device\ttype\tunits\tmemory\tname\tdriver");
    code = CMD_OK;
    if (anymax_devices_visit(list_one, &list) != ANYMAX_OK)
        code = cmd_error("%s", anymax_error_message());
    if (json) {
        if (print_json(&list) != CMD_OK) code = CMD_FAILED;
    } else {
        cmd_table_print(&list.table);
        if (list.drivers.cells > 0) puts("");
        cmd_table_print(&list.drivers);
        for (i = 0; i < list.missing; i++)
            printf("%snot usable: %s\n", i ? "" : "\n", list.reasons[i]);
    }
done:
    poptFreeContext(context);
    return code;
}
