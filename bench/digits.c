/* digits.c: `anymax digits`: the UCI handwritten digits, scored by a linear classifier, through
 * softmax, entmax15 and cross-entropy on every device. */
#include "digits.h"
#include "safetensors.h"
#include "timing.h"

#include "support/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const op_names[DIGITS_RESULTS] = {"softmax", "entmax15", "cross_entropy"};
static const char *const tensor_names[DIGITS_RESULTS] = {"y", "y", "loss"};

static bool load(digits_data *data, char *path, size_t size) {
    io_safetensors file = {0};
    io_error error;
    char places[2600];
    bool good;
    if (!cmd_data_path("data", "digits.safetensors", path, size)) {
        cmd_data_places("data", places, sizeof places);
        cmd_error("there is no digits.safetensors in %s", places);
        return false;
    }
    good = io_safetensors_open_path(&file, path, &error) &&
           io_safetensors_load(&file, "logits", &data->logits, &error) &&
           io_safetensors_load(&file, "labels", &data->labels, &error) &&
           io_safetensors_load(&file, "images", &data->images, &error);
    io_safetensors_close(&file);
    if (good) {
        data->count = data->labels.count;
        data->classes = data->count ? data->logits.count / data->count : 0;
        good = (data->logits.dtype == IO_F32 && data->logits.rank == 2 &&
                data->labels.dtype == IO_I32 && data->labels.rank == 1 && data->classes >= 3 &&
                data->count >= DIGITS_SHOWN && data->logits.shape[0] == data->labels.shape[0] &&
                data->images.count == data->count * 64) ||
               io_fail(&error, "does not hold logits, labels and images of digits");
    }
    if (!good) cmd_error("%s %s", path, error.text);
    return good;
}

const call_tensor *digits_tensor(digits_result *result, int which) {
    return call_find(&result->call[which], tensor_names[which]);
}

void digits_likeliest(digits_result *result, int which, size_t image, size_t classes,
                      size_t top[DIGITS_CLASSES]) {
    const call_tensor *y = digits_tensor(result, which);
    size_t i, j, k;
    for (k = 0; k < DIGITS_CLASSES; k++) {
        top[k] = classes;
        for (i = 0; i < classes; i++) {
            bool taken = false;
            for (j = 0; j < k; j++) taken = taken || top[j] == i;
            if (taken) continue;
            if (top[k] == classes ||
                call_get(y, image * classes + i) > call_get(y, image * classes + top[k]))
                top[k] = i;
        }
    }
}

/* ---------------------------------------------------------------- running */

static bool add_copy(op_call *call, const char *name, const io_array *array, io_error *error) {
    io_array copy;
    if (!io_array_create(&copy, array->dtype, array->rank, array->shape, error)) return false;
    memcpy(copy.data, array->data, array->count * io_dtype_size(array->dtype));
    return call_add(call, name, &copy, error);
}

static bool run_one(const digits_data *data, int which, anymax_stream *stream,
                    digits_result *result) {
    op_call *call = &result->call[which];
    uint32_t rank = 0;
    int64_t shape[ANYMAX_MAX_RANK];
    io_error error;
    double start;
    bool good;
    call->op = call_find_op(op_names[which]);
    if (!call->op) return false;
    good = add_copy(call, "x", &data->logits, &error);
    if (which == DIGITS_LOSS)
        good = good && add_copy(call, "target", &data->labels, &error) &&
               call_set_text(call, "reduction", "mean", &error);
    if (!good) return cmd_error("%s: %s", op_names[which], error.text) == CMD_OK;
    if (call_shape(call, tensor_names[which], &rank, shape) != ANYMAX_OK)
        return cmd_error("%s", anymax_error_message()) == CMD_OK;
    if (!call_add_result(call, tensor_names[which], IO_F32, rank, shape, false, &error))
        return cmd_error("%s %s", tensor_names[which], error.text) == CMD_OK;
    start = timing_now();
    if (call_run(call, stream) != ANYMAX_OK)
        return cmd_error("%s", anymax_error_message()) == CMD_OK;
    result->seconds += timing_now() - start;
    return true;
}

static void summarise(const digits_data *data, digits_result *result) {
    const call_tensor *y = digits_tensor(result, DIGITS_SOFTMAX);
    double *sure = calloc(data->count, sizeof *sure), right = 0;
    size_t i, k, top[DIGITS_CLASSES];
    result->loss = call_get(digits_tensor(result, DIGITS_LOSS), 0);
    for (i = 0; i < data->count && sure; i++) {
        digits_likeliest(result, DIGITS_SOFTMAX, i, data->classes, top);
        sure[i] = call_get(y, i * data->classes + top[0]);
        result->confidence += sure[i] / (double)data->count;
        right += (double)top[0] == io_array_get(&data->labels, i);
    }
    result->accuracy = right / (double)data->count;
    for (k = 0; k < DIGITS_SHOWN && sure; k++) {
        for (i = 0; i < data->count; i++)
            if (sure[i] < sure[result->least[k]]) result->least[k] = i;
        sure[result->least[k]] = 2; /* taken */
    }
    free(sure);
}

static bool run_device(const digits_data *data, anymax_device *device, digits_result *result) {
    anymax_stream *stream = NULL;
    bool good = anymax_stream_create(device, NULL, &stream) == ANYMAX_OK;
    int i;
    if (!good) cmd_error("%s", anymax_error_message());
    cmd_progress("%zu images on %s", data->count, cmd_selector(device));
    for (i = 0; i < DIGITS_RESULTS && good; i++) good = run_one(data, i, stream, result);
    anymax_stream_release(stream);
    if (good) summarise(data, result);
    return good;
}

/* ---------------------------------------------------------------- checking */

/* What the three operations give in double precision, in memory of the caller. */
static void compute_truth(const digits_data *data, double *x, double *target,
                          double *truth_of[DIGITS_RESULTS]) {
    size_t i;
    int which;
    for (i = 0; i < data->logits.count; i++) x[i] = io_array_get(&data->logits, i);
    for (i = 0; i < data->count; i++) target[i] = io_array_get(&data->labels, i);
    for (which = 0; which < DIGITS_RESULTS; which++) {
        reference r = reference_make(op_names[which], data->count, data->classes);
        r.x = x;
        if (which == DIGITS_LOSS) {
            r.target = target;
            r.reduction = "mean";
            r.loss = truth_of[which];
        } else {
            r.y = truth_of[which];
        }
        reference_forward(&r);
    }
}

static bool check_double(const digits_data *data, digits_result *results, size_t count) {
    size_t n = data->logits.count, d;
    double *memory = calloc(3 * n + data->count + 1, sizeof *memory), *want[DIGITS_RESULTS];
    bool good = memory != NULL;
    int which;
    if (!good) return false;
    want[DIGITS_SOFTMAX] = memory + n;
    want[DIGITS_ENTMAX15] = memory + 2 * n;
    want[DIGITS_LOSS] = memory + 3 * n + data->count;
    compute_truth(data, memory, memory + 3 * n, want);
    for (d = 0; d < count; d++) {
        for (which = 0; which < DIGITS_RESULTS; which++) {
            truth t = truth_of_call(&results[d].call[which]);
            t.tensor = tensor_names[which];
            results[d].against_double[which] =
                compare_result(&t, digits_tensor(&results[d], which), want[which]);
            good = good && results[d].against_double[which].units <= 1;
        }
    }
    free(memory);
    return good;
}

/* Largest difference between any two devices; false if some pair differs by more than both may. */
static bool check_pairs(digits_result *results, size_t count, double largest[DIGITS_RESULTS]) {
    bool good = true;
    size_t a, b, i;
    int which;
    for (which = 0; which < DIGITS_RESULTS; which++) {
        truth t = truth_of_call(&results[0].call[which]);
        size_t elements = call_count(digits_tensor(&results[0], which));
        double *want = calloc(elements + 1, sizeof *want);
        t.tensor = tensor_names[which];
        largest[which] = 0;
        for (a = 0; a < count && want; a++) {
            for (i = 0; i < elements; i++) want[i] = call_get(digits_tensor(&results[a], which), i);
            for (b = a + 1; b < count; b++) {
                verdict v = compare_result(&t, digits_tensor(&results[b], which), want);
                largest[which] = fmax(largest[which], v.error);
                good = good && v.units <= 2; /* each may be off by 1 */
            }
        }
        good = good && want;
        free(want);
    }
    return good;
}

static bool same_story(const digits_data *data, digits_result *results, size_t count) {
    size_t d, k, first[DIGITS_CLASSES], other[DIGITS_CLASSES];
    int which;
    for (d = 1; d < count; d++) {
        if (results[d].accuracy != results[0].accuracy) return false;
        if (memcmp(results[d].least, results[0].least, sizeof results[0].least) != 0) return false;
        for (k = 0; k < DIGITS_SHOWN; k++) {
            for (which = DIGITS_SOFTMAX; which <= DIGITS_ENTMAX15; which++) {
                size_t image = results[0].least[k];
                digits_likeliest(&results[0], which, image, data->classes, first);
                digits_likeliest(&results[d], which, image, data->classes, other);
                if (memcmp(first, other, sizeof first) != 0) return false;
            }
        }
    }
    return true;
}

static int report(const digits_data *data, const char *path, const cmd_devices_open *devices,
                  digits_result *results) {
    double largest[DIGITS_RESULTS];
    size_t count = devices->count;
    bool exact = check_double(data, results, count);
    bool pairs = check_pairs(results, count, largest), story = same_story(data, results, count);
    cmd_progress_end();
    printf("%zu handwritten digits, %zu classes, scored by a linear classifier (%s)\n\n",
           data->count, data->classes, path);
    digits_show_table(data, devices, results);
    printf("\nThe %d least certain images%s:\n\n", DIGITS_SHOWN,
           count > 1 && story ? ", the same on every device" : "");
    digits_show_images(data, &results[0]);
    if (count > 1)
        printf("\nLargest difference between devices: softmax %.2g, entmax15 %.2g, cross-entropy "
               "%.2g\n",
               largest[0], largest[1], largest[2]);
    else
        printf("\n");
    if (!exact) printf("FAILED: a device is further from double precision than is allowed\n");
    if (!pairs) printf("FAILED: two devices differ by more than is allowed\n");
    if (!story)
        printf("FAILED: devices differ in accuracy, least certain images or their classes\n");
    if (exact && pairs && story)
        printf(count > 1 ? "All %zu devices agree with each other and with double precision.\n"
                         : "%zu device, which agrees with double precision.\n",
               count);
    return exact && pairs && story && devices->failed == 0 ? CMD_OK : CMD_FAILED;
}

static int digits(char *const *selectors) {
    cmd_devices_open devices = {0};
    digits_data data = {0};
    digits_result *results = NULL;
    char path[1400];
    bool good = load(&data, path, sizeof path) && cmd_open_devices(selectors, true, 0, &devices);
    int code = CMD_FAILED, which;
    size_t d;
    if (good) results = calloc(devices.count, sizeof *results);
    for (d = 0; d < devices.count && results && good; d++)
        good = run_device(&data, devices.device[d], &results[d]);
    if (good && results) code = report(&data, path, &devices, results);
    for (d = 0; d < devices.count && results; d++)
        for (which = 0; which < DIGITS_RESULTS; which++) call_free(&results[d].call[which]);
    free(results);
    cmd_close_devices(&devices);
    io_array_free(&data.logits);
    io_array_free(&data.labels);
    io_array_free(&data.images);
    return code;
}

int cmd_digits(int argc, const char **argv) {
    static const cmd_help help = {
        "digits", "[OPTION...]",
        "Runs real data through softmax, entmax15 and cross-entropy: the logits that a linear\n"
        "classifier gives 1,797 handwritten digits. Shows accuracy, mean confidence and loss of\n"
        "every device, the images that the classifier is least sure of, and whether the devices\n"
        "agree with each other and with double precision; exit code 1 if not. Without --device:\n"
        "every device, or the one that ANYMAX_DEVICE names.\n",
        "  anymax digits\n  anymax digits --device cpu --device opencl:0\n"};
    char **devices = NULL;
    int code;
    struct poptOption options[] = {{"device", 'd', POPT_ARG_ARGV, &devices, 0,
                                    "A device, or all; may be given many times", "DEVICE"},
                                   POPT_TABLEEND};
    poptContext context;
    if (cmd_parse(&help, argc, argv, options, &context, &code)) {
        const char *extra = poptPeekArg(context);
        code = extra ? cmd_usage("digits", "'%s' is not expected here", extra) : digits(devices);
    }
    cmd_free_args(devices);
    poptFreeContext(context);
    return code;
}
