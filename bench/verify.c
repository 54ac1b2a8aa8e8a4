/* verify.c: `anymax verify`: golden cases on devices. */
#include "golden.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct verifier {
    cmd_devices_open devices;
    cmd_table table;
    cmd_table problems;
    size_t cases, failed, broken; /* broken: files and operations that could not be run at all */
} verifier;

static const io_dtype storages[] = {IO_F32, IO_F16, IO_BF16};

static void report(verifier *v, const anymax_op_info *op, const char *device, io_dtype storage,
                   const golden_result *r) {
    size_t i, kept = sizeof r->failures / sizeof *r->failures;
    v->cases += r->cases;
    v->failed += r->failed;
    if (r->cases == 0) return;
    if (!v->table.cells)
        cmd_table_add(&v->table, "operation\tdevice\ttype\tcases\tfwd\tbwd\t\tworst");
    cmd_table_add(&v->table, "%s\t%s\t%s\t%zu\t%.3f\t%.3f\t%s\t%s", op->name, device,
                  io_dtype_name(storage), r->cases, r->forward, r->backward,
                  r->failed ? "FAILED" : "ok", r->where);
    for (i = 0; i < r->failed && i < kept; i++)
        cmd_table_add(&v->problems, "%s", r->failures[i].text);
    if (r->failed > kept)
        cmd_table_add(&v->problems, "%s on %s, %s: %zu more cases failed", op->name, device,
                      io_dtype_name(storage), r->failed - kept);
}

static void verify_on(verifier *v, io_safetensors *file, const char *path, const anymax_op_info *op,
                      anymax_device *device) {
    anymax_stream *stream = NULL;
    golden_result *result = malloc(sizeof *result);
    io_error error;
    size_t i;
    if (!result || anymax_stream_create(device, NULL, &stream) != ANYMAX_OK) {
        cmd_error("%s: %s", cmd_selector(device), result ? anymax_error_message() : "no memory");
        v->broken++;
        free(result);
        return;
    }
    for (i = 0; i < sizeof storages / sizeof *storages; i++) {
        cmd_progress("%s on %s, %s", op->name, cmd_selector(device), io_dtype_name(storages[i]));
        if (!golden_run(file, op, stream, storages[i], result, &error)) {
            cmd_error("%s %s", path, error.text);
            v->broken++;
            break;
        }
        report(v, op, cmd_selector(device), storages[i], result);
    }
    anymax_stream_release(stream);
    free(result);
}

static void verify_file(verifier *v, const char *path, const anymax_op_info *op) {
    io_safetensors file;
    io_error error;
    size_t i;
    if (!io_safetensors_open_path(&file, path, &error)) {
        cmd_error("%s %s", path, error.text);
        v->broken++;
        return;
    }
    for (i = 0; i < v->devices.count; i++) verify_on(v, &file, path, op, v->devices.device[i]);
    io_safetensors_close(&file);
}

static void verify_op(verifier *v, const anymax_op_info *op) {
    char name[128], path[1400], places[2600];
    snprintf(name, sizeof name, "%s.safetensors", op->name);
    if (cmd_data_path("golden", name, path, sizeof path)) {
        verify_file(v, path, op);
        return;
    }
    cmd_data_places("golden", places, sizeof places);
    cmd_error("there is no %s in %s", name, places);
    v->broken++;
}

#define SUFFIX ".safetensors"

/* Whether the argument is a golden file; its name is that of the operation. */
static bool is_file(const char *argument) {
    size_t length = strlen(argument), suffix = strlen(SUFFIX);
    return length >= suffix && strcmp(argument + length - suffix, SUFFIX) == 0;
}

/* The operation that an argument is about; NULL after a message if there is none. */
static const anymax_op_info *op_of(const char *argument) {
    const char *slash = strrchr(argument, '/'), *start = slash ? slash + 1 : argument;
    char name[128];
    if (!is_file(argument)) return call_find_op(argument);
    snprintf(name, sizeof name, "%.*s", (int)(strlen(start) - strlen(SUFFIX)), start);
    return call_find_op(name);
}

static int finish(verifier *v) {
    bool good = v->failed == 0 && v->broken == 0 && v->devices.failed == 0;
    cmd_progress_end();
    if (v->cases == 0) return CMD_FAILED; /* the reasons have been told */
    cmd_table_print(&v->table);
    printf(
        "\nfwd and bwd: worst error in units of the tolerance; 1 is the most that is allowed.\n");
    if (v->problems.cells) {
        printf("\n");
        cmd_table_print(&v->problems);
    }
    printf("\n%zu cases on %zu device%s: %s", v->cases, v->devices.count,
           v->devices.count == 1 ? "" : "s", good ? "all agree with double precision\n" : "");
    if (!good)
        printf("%zu failed, %zu files or operations could not be run\n", v->failed, v->broken);
    return good ? CMD_OK : CMD_FAILED;
}

static int verify(char *const *devices, const char **arguments) {
    verifier v = {0};
    size_t i;
    int code;
    for (i = 0; arguments && arguments[i]; i++)
        if (!op_of(arguments[i])) return CMD_FAILED;
    if (!cmd_open_devices(devices, true, 0, &v.devices)) return CMD_FAILED;
    cmd_table_start(&v.table, "lllrrrll");
    cmd_table_start(&v.problems, "l");
    if (!arguments || !*arguments)
        for (i = 0; i < anymax_op_count(); i++) verify_op(&v, anymax_op_at(i));
    for (; arguments && *arguments; arguments++) {
        if (is_file(*arguments))
            verify_file(&v, *arguments, op_of(*arguments));
        else
            verify_op(&v, op_of(*arguments));
    }
    code = finish(&v);
    cmd_close_devices(&v.devices);
    return code;
}

int cmd_verify(int argc, const char **argv) {
    static const cmd_help help = {
        "verify", "[OPTION...] [OP|FILE.safetensors]...",
        "Runs golden cases, forward and gradients, in f32, f16 and bf16, and holds the results\n"
        "against double precision. Without an argument: every operation. A golden file from\n"
        "elsewhere is named like its operation. Without --device: every device, or the one that\n"
        "ANYMAX_DEVICE names. Exit code 1 if anything is off.\n",
        "  anymax verify\n  anymax verify softmax entmax --device vulkan:0\n"
        "  anymax verify more/softmax.safetensors --device all\n"};
    char **devices = NULL;
    int code;
    struct poptOption options[] = {{"device", 'd', POPT_ARG_ARGV, &devices, 0,
                                    "A device, or all; may be given many times", "DEVICE"},
                                   POPT_TABLEEND};
    poptContext context;
    if (cmd_parse(&help, argc, argv, options, &context, &code))
        code = verify(devices, poptGetArgs(context));
    cmd_free_args(devices);
    poptFreeContext(context);
    return code;
}
