/* run.c: `anymax run`: one operation, or its gradient, on files. */
#include "call.h"
#include "file_arg.h"

#include <stdlib.h>
#include <string.h>

/* Elements of a result that are shown when it goes to no file. */
#define MAX_SHOWN 1000

typedef struct run_options {
    char **in, **out, **set; /* NAME=VALUE, NULL-terminated, or NULL */
    char *device, *dtype, *axis;
    int grad;
    io_dtype storage;
    bool keep16; /* no --dtype: 16-bit files stay as they are */
} run_options;

/* Divides NAME=VALUE. */
static bool split_pair(const char *pair, char *name, size_t size, const char **value) {
    const char *equal = strchr(pair, '=');
    size_t n = equal ? (size_t)(equal - pair) : 0;
    if (!equal || n == 0 || n >= size || !equal[1]) return false;
    memcpy(name, pair, n);
    name[n] = 0;
    *value = equal + 1;
    return true;
}

static bool has_prefix(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static void list_names(const anymax_op_tensor *list, const char *prefix, bool gradients, char *text,
                       size_t size) {
    size_t i, used = strlen(text);
    for (i = 0; i < ANYMAX_OP_MAX_TENSORS && list[i].name; i++) {
        if (gradients && !list[i].differentiable) continue;
        if (used + strlen(list[i].name) + 12 > size) return;
        used += (size_t)snprintf(text + used, size - used, "%s%s%s", used ? ", " : "", prefix,
                                 list[i].name);
    }
}

/* Registry entry of what --in names, or NULL after a message. */
static const anymax_op_tensor *input_entry(const anymax_op_info *op, const char *name, bool grad) {
    const anymax_op_tensor *entry = NULL;
    char known[400] = "";
    if (has_prefix(name, "up.")) {
        if (grad) entry = op_output(op, name);
    } else if (!has_prefix(name, "grad.")) {
        entry = op_input(op, name);
        if (!entry && grad && !op->value_and_grad)
            entry = op_output(op, name); /* saved from the forward pass */
    }
    if (entry) return entry;
    if (has_prefix(name, "up.") && !grad) {
        cmd_error("--in %s is for a gradient: add --grad", name);
        return NULL;
    }
    list_names(op->inputs, "", false, known, sizeof known);
    if (grad) list_names(op->outputs, "up.", false, known, sizeof known);
    cmd_error("%s has no input '%s'; it takes %s", op->name, name, known);
    return NULL;
}

static int load_input(op_call *call, const run_options *options, const char *pair) {
    const anymax_op_tensor *entry;
    const char *value;
    char name[64];
    io_error error;
    io_array array;
    size_t overflowed;
    if (!split_pair(pair, name, sizeof name, &value))
        return cmd_usage("run", "--in takes NAME=FILE, not '%s'", pair);
    entry = input_entry(call->op, name, options->grad);
    if (!entry) return CMD_FAILED;
    if (call_find(call, name)) return cmd_usage("run", "--in %s is given twice", name);
    if (!file_arg_load(value, &array, &error)) return cmd_error("%s %s", value, error.text);
    if (!call_fit(&array, entry->type, options->storage, options->keep16, &overflowed, &error)) {
        io_array_free(&array);
        return cmd_error("%s %s", value, error.text);
    }
    if (overflowed)
        cmd_error("warning: %zu numbers of %s are too large for %s and became infinite", overflowed,
                  value, io_dtype_name(array.dtype));
    if (!call_add(call, name, &array, &error)) return cmd_error("%s %s", value, error.text);
    return CMD_OK;
}

static int load_inputs(op_call *call, const run_options *options) {
    char **in;
    bool up = false;
    size_t i;
    int code;
    for (in = options->in; in && *in; in++) {
        if ((code = load_input(call, options, *in)) != CMD_OK) return code;
        up = up || has_prefix(*in, "up.");
    }
    for (i = 0; i < ANYMAX_OP_MAX_TENSORS && call->op->inputs[i].name; i++) {
        const char *name = call->op->inputs[i].name;
        if (!call->op->inputs[i].optional && !call_find(call, name))
            return cmd_usage("run", "%s needs --in %s=FILE", call->op->name, name);
    }
    if (options->grad && !up)
        return cmd_usage("run", "--grad needs an upstream gradient, --in up.%s=FILE",
                         call->op->outputs[0].name);
    return CMD_OK;
}

static int set_params(op_call *call, const run_options *options) {
    char **set;
    const char *value;
    char name[64];
    io_error error;
    for (set = options->set; set && *set; set++) {
        if (!split_pair(*set, name, sizeof name, &value))
            return cmd_usage("run", "--set takes NAME=VALUE, not '%s'", *set);
        if (!call_set_text(call, name, value, &error))
            return cmd_usage("run", "--set: %s %s", name, error.text);
    }
    if (options->axis && !call_set_text(call, "axis", options->axis, &error))
        return cmd_usage("run", "--axis: axis %s", error.text);
    return CMD_OK;
}

/* ---------------------------------------------------------------- results */

static io_dtype result_type(const anymax_op_tensor *entry, const run_options *options) {
    if (entry->type == ANYMAX_CLASS_INDEX) return IO_I64;
    return entry->type == ANYMAX_CLASS_MASK ? IO_BOOL : options->storage;
}

/* Adds an output or a gradient, unless it is there already. */
static int add_result(op_call *call, const run_options *options, const char *name) {
    const anymax_op_tensor *entry;
    uint32_t rank = 0;
    int64_t shape[ANYMAX_MAX_RANK] = {0};
    char known[400] = "";
    io_error error;
    if (options->grad) {
        const call_tensor *input;
        entry = has_prefix(name, "grad.") ? op_input(call->op, name) : NULL;
        list_names(call->op->inputs, "grad.", true, known, sizeof known);
        if (!entry || !entry->differentiable)
            return cmd_error("%s has no gradient '%s'; it has %s", call->op->name, name, known);
        input = call_find(call, name + 5);
        if (!input) return cmd_error("%s needs --in %s=FILE", name, name + 5);
        rank = input->tensor.rank;
        memcpy(shape, input->tensor.shape, sizeof shape);
    } else {
        entry = op_output(call->op, name);
        if (!entry || has_prefix(name, "up.")) {
            list_names(call->op->outputs, "", false, known, sizeof known);
            return has_prefix(name, "grad.") ? cmd_error("--out %s is a gradient: add --grad", name)
                                             : cmd_error("%s has no output '%s'; it gives %s",
                                                         call->op->name, name, known);
        }
        if (call_shape(call, name, &rank, shape) != ANYMAX_OK)
            return cmd_error("%s", anymax_error_message());
    }
    if (call_find(call, name)) return cmd_usage("run", "--out %s is given twice", name);
    if (!call_add_result(call, name, result_type(entry, options), rank, shape, false, &error))
        return cmd_error("%s %s", name, error.text);
    return CMD_OK;
}

/* Results that were not asked for by name: what the operation insists on, or every gradient. */
static int add_standard_results(op_call *call, const run_options *options) {
    const anymax_op_tensor *list = options->grad ? call->op->inputs : call->op->outputs;
    size_t i;
    int code;
    for (i = 0; i < ANYMAX_OP_MAX_TENSORS && list[i].name; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s%s", options->grad ? "grad." : "", list[i].name);
        if (call_find(call, name)) continue;
        if (options->grad ? options->out || !list[i].differentiable || !call_find(call, name + 5)
                          : list[i].optional)
            continue;
        if ((code = add_result(call, options, name)) != CMD_OK) return code;
    }
    return CMD_OK;
}

static int add_results(op_call *call, const run_options *options) {
    char **out;
    const char *value;
    char name[64];
    io_error error;
    int code;
    for (out = options->out; out && *out; out++) {
        if (!split_pair(*out, name, sizeof name, &value))
            return cmd_usage("run", "--out takes NAME=FILE, not '%s'", *out);
        if (!file_arg_can_save(value, &error)) return cmd_usage("run", "%s %s", value, error.text);
        if ((code = add_result(call, options, name)) != CMD_OK) return code;
    }
    return add_standard_results(call, options);
}

static void show(const call_tensor *result) {
    const io_array *a = &result->array;
    size_t row = a->rank ? (size_t)a->shape[a->rank - 1] : 1, i;
    char shape[160];
    io_shape_text(shape, sizeof shape, a->rank, a->shape);
    printf("%s %s %s\n", result->name, io_dtype_name(a->dtype), shape);
    for (i = 0; i < a->count && i < MAX_SHOWN; i++)
        printf("%s%.9g%s", i % row ? " " : "  ", io_array_get(a, i),
               (i + 1) % row == 0 || i + 1 == a->count || i + 1 == MAX_SHOWN ? "\n" : "");
    if (i < a->count)
        cmd_error("the other %zu elements of %s are not shown; --out %s=FILE keeps them all",
                  a->count - i, result->name, result->name);
}

static int save_results(op_call *call, const run_options *options, size_t first) {
    char **out;
    const char *value;
    char name[64];
    io_error error;
    size_t i;
    for (out = options->out; out && *out; out++) {
        const call_tensor *result;
        if (!split_pair(*out, name, sizeof name, &value)) return CMD_FAILED;
        result = call_find(call, name);
        if (!result || !file_arg_save(value, &result->array, &error))
            return cmd_error("%s %s", value, result ? error.text : "was not made");
    }
    for (i = first; i < call->tensors && !options->out; i++) show(&call->tensor[i]);
    return CMD_OK;
}

/* ---------------------------------------------------------------- verb */

static int run_on(op_call *call, const run_options *options) {
    char *selectors[2] = {options->device, NULL};
    cmd_devices_open devices = {0};
    anymax_stream *stream = NULL;
    int code = CMD_OK;
    if (!cmd_open_devices(options->device ? selectors : NULL, false, 0, &devices))
        return CMD_FAILED;
    if (anymax_stream_create(devices.device[0], NULL, &stream) != ANYMAX_OK ||
        call_run(call, stream) != ANYMAX_OK)
        code = cmd_error("%s", anymax_error_message());
    anymax_stream_release(stream);
    cmd_close_devices(&devices);
    return code;
}

static int run(const run_options *options, const char *op_name) {
    op_call *call = calloc(1, sizeof *call);
    size_t first;
    int code;
    if (!call) return cmd_error("no memory");
    call->op = call_find_op(op_name);
    code = call->op ? set_params(call, options) : CMD_FAILED;
    if (code == CMD_OK) code = load_inputs(call, options);
    first = call->tensors;
    if (code == CMD_OK) code = add_results(call, options);
    if (code == CMD_OK) code = run_on(call, options);
    if (code == CMD_OK) code = save_results(call, options, first);
    call_free(call);
    free(call);
    return code;
}

int cmd_run(int argc, const char **argv) {
    static const cmd_help help = {
        "run", "[OPTION...] OP",
        "Runs an operation on arrays from files. An array is FILE.npy, FILE.safetensors:TENSOR "
        "or,\n"
        "for small inputs, [[1, 2], [3, 4]]; names are those of 'anymax ops OP'. f64 becomes f32,\n"
        "integers become indices, bool and 0/1 become masks. Results without --out are printed.\n"
        "With --grad the gradient runs: up.NAME is the gradient that comes in for output NAME,\n"
        "grad.NAME the one that goes out for input NAME.\n",
        "  anymax run softmax --in x=scores.npy --set scale=0.5 --out y=weights.npy\n"
        "  anymax run entmax15 --in 'x=[[1, 2, 3]]' --device opencl:0\n"
        "  anymax run softmax --grad --in x=scores.npy --in up.y=g.npy --out grad.x=h.npy\n"
        "  anymax run cross_entropy --in x=net.safetensors:logits --in target=labels.npy \\\n"
        "      --set reduction=mean --out loss=net.safetensors:loss\n"};
    run_options o = {0};
    int code;
    const char *op;
    struct poptOption options[] = {
        {"in", 'i', POPT_ARG_ARGV, &o.in, 0, "An input; may be given many times", "NAME=FILE"},
        {"out", 'o', POPT_ARG_ARGV, &o.out, 0, "Where a result goes; likewise", "NAME=FILE"},
        {"set", 's', POPT_ARG_ARGV, &o.set, 0, "A parameter; likewise", "NAME=VALUE"},
        {"grad", 'g', POPT_ARG_NONE, &o.grad, 0, "Run the gradient", NULL},
        {"axis", 'a', POPT_ARG_STRING, &o.axis, 0, "Axis of the rows, default the last", "N"},
        {"device", 'd', POPT_ARG_STRING, &o.device, 0, "Where to run", "DEVICE"},
        {"dtype", 't', POPT_ARG_STRING, &o.dtype, 0,
         "Storage of inputs and results: f32, f16 or bf16; default f32, but 16-bit inputs stay",
         "TYPE"},
        POPT_TABLEEND};
    poptContext context;
    if (!cmd_parse(&help, argc, argv, options, &context, &code)) goto done;
    op = poptGetArg(context);
    o.storage = io_dtype_find(o.dtype ? o.dtype : "f32");
    o.keep16 = o.dtype == NULL;
    if (!op)
        code = cmd_usage("run", "the name of an operation is missing");
    else if (poptPeekArg(context))
        code = cmd_usage("run", "'%s' is not expected behind %s", poptPeekArg(context), op);
    else if (o.storage != IO_F32 && o.storage != IO_F16 && o.storage != IO_BF16)
        code = cmd_usage("run", "--dtype is f32, f16 or bf16, not '%s'", o.dtype);
    else
        code = run(&o, op);
done:
    cmd_free_args(o.in);
    cmd_free_args(o.out);
    cmd_free_args(o.set);
    cmd_free_text(o.device);
    cmd_free_text(o.dtype);
    cmd_free_text(o.axis);
    poptFreeContext(context);
    return code;
}
