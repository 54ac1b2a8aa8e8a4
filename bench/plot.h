/* plot.h: lines over two logarithmic axes, as a picture. */
#ifndef ANYMAX_BENCH_PLOT_H
#define ANYMAX_BENCH_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#define PLOT_POINTS 32

typedef struct plot_line {
    char label[80];
    size_t points;
    double x[PLOT_POINTS], y[PLOT_POINTS]; /* above 0 */
} plot_line;

typedef struct plot {
    const char *title, *x_name, *y_name;
    const plot_line *line;
    size_t lines;
} plot;

/* Writes an SVG file; false after a message. Behind the lines lies a dashed one on which y is
 * proportional to x. */
bool plot_write_svg(const plot *p, const char *path);

#endif
