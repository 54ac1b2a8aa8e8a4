/* digits.h: what `anymax digits` computes and shows. */
#ifndef ANYMAX_BENCH_DIGITS_H
#define ANYMAX_BENCH_DIGITS_H

#include "compare.h"

#define DIGITS_SHOWN 5
#define DIGITS_CLASSES 3

typedef struct digits_data {
    io_array logits, labels, images; /* (count, classes) f32, (count,) i32, (count, 8, 8) u8 */
    size_t count, classes;
} digits_data;

/* The operations of the job, and which result of each is looked at. */
enum { DIGITS_SOFTMAX, DIGITS_ENTMAX15, DIGITS_LOSS, DIGITS_RESULTS };

typedef struct digits_result {
    op_call call[DIGITS_RESULTS];
    verdict against_double[DIGITS_RESULTS];
    double accuracy, confidence, loss;
    size_t least[DIGITS_SHOWN]; /* least certain first */
    double seconds;             /* of the three operations, the first call of each */
} digits_result;

/* The tensor of a result that the job looks at: y, y, loss. */
const call_tensor *digits_tensor(digits_result *result, int which);
/* Its classes, the likeliest first. */
void digits_likeliest(digits_result *result, int which, size_t image, size_t classes,
                      size_t top[DIGITS_CLASSES]);

void digits_show_table(const digits_data *data, const cmd_devices_open *devices,
                       digits_result *results);
void digits_show_images(const digits_data *data, digits_result *result);

#endif
