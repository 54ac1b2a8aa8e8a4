/* digits_show.c: tables and pictures of `anymax digits`. */
#include "digits.h"

#include <string.h>

#define SIDE 8
#define PICTURE_WIDTH (2 * SIDE) /* two characters make a square */
#define GAP "   "

void digits_show_table(const digits_data *data, const cmd_devices_open *devices,
                       digits_result *results) {
    cmd_table table;
    size_t d;
    int which;
    cmd_table_start(&table, "lrrrrrrl");
    cmd_table_add(
        &table, "device\taccuracy\tconfidence\tcross-entropy\toff by\tof allowed\tfirst ms\tname");
    for (d = 0; d < devices->count; d++) {
        const anymax_device_info *info = anymax_device_get_info(devices->device[d]);
        const digits_result *r = &results[d];
        double error = 0, units = 0;
        for (which = 0; which < DIGITS_RESULTS; which++) {
            const verdict *v = &r->against_double[which];
            if (v->error > error) error = v->error;
            if (v->units > units) units = v->units;
        }
        cmd_table_add(&table, "%s\t%.2f %%\t%.6f\t%.6f\t%.1e\t%.0f %%\t%.1f\t%s", info->selector,
                      100 * r->accuracy, r->confidence, r->loss, error, 100 * units,
                      1000 * r->seconds, info->name);
    }
    cmd_table_print(&table);
    printf(
        "\nconfidence: mean probability of the likeliest class; off by: largest distance from "
        "double\nprecision, and what part of the tolerance that is; first ms: three operations on "
        "%zu rows,\ncompiling included.\n",
        data->count);
}

static void show_row_of_pixels(const digits_data *data, const digits_result *result, size_t row) {
    static const char shades[] = " .:-=+*#%@";
    size_t k, column;
    for (k = 0; k < DIGITS_SHOWN; k++) {
        for (column = 0; column < SIDE; column++) {
            size_t at = result->least[k] * SIDE * SIDE + row * SIDE + column;
            size_t grey = (size_t)io_array_get(&data->images, at) * (sizeof shades - 2) / 16;
            char shade = shades[grey < sizeof shades - 2 ? grey : sizeof shades - 2];
            printf("%c%c", shade, shade);
        }
        printf(k + 1 < DIGITS_SHOWN ? GAP : "\n");
    }
}

/* The class at `place` of each image, with its weight; a weight of exactly 0 is shown as such. */
static void show_classes(const digits_data *data, digits_result *result, int which, size_t place) {
    const call_tensor *y = digits_tensor(result, which);
    const char *name = which == DIGITS_SOFTMAX ? "softmax" : "entmax15";
    char text[64];
    size_t k, top[DIGITS_CLASSES];
    for (k = 0; k < DIGITS_SHOWN; k++) {
        size_t image = result->least[k];
        double weight;
        digits_likeliest(result, which, image, data->classes, top);
        weight = call_get(y, image * data->classes + top[place]);
        snprintf(text, sizeof text, weight == 0 ? "%-9s%zu %.0f" : "%-9s%zu %.3f",
                 place ? "" : name, top[place], weight);
        printf("%-*s%s", PICTURE_WIDTH, text, k + 1 < DIGITS_SHOWN ? GAP : "\n");
    }
}

void digits_show_images(const digits_data *data, digits_result *result) {
    char text[64];
    size_t i, k;
    for (i = 0; i < SIDE; i++) show_row_of_pixels(data, result, i);
    for (k = 0; k < DIGITS_SHOWN; k++) {
        snprintf(text, sizeof text, "no. %zu, a %.0f", result->least[k],
                 io_array_get(&data->labels, result->least[k]));
        printf("%-*s%s", PICTURE_WIDTH, text, k + 1 < DIGITS_SHOWN ? GAP : "\n");
    }
    for (i = 0; i < DIGITS_CLASSES; i++) show_classes(data, result, DIGITS_SOFTMAX, i);
    for (i = 0; i < DIGITS_CLASSES; i++) show_classes(data, result, DIGITS_ENTMAX15, i);
}
