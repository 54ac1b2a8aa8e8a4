/* plot.c: lines over two logarithmic axes, as an SVG file. */
#include "plot.h"

#include "command.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* In pixels. */
#define WIDTH 860
#define HEIGHT 560
#define LEFT 80
#define RIGHT 250 /* names of the lines */
#define TOP 50
#define BOTTOM 60

/* Colours that people with any eyesight tell apart (Okabe and Ito). */
static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                      "#e69f00", "#56b4e9", "#000000", "#999999"};
#define COLOURS (sizeof colours / sizeof *colours)

typedef struct frame {
    FILE *file;
    int low[2], high[2]; /* decades of x and y */
} frame;

static double place_x(const frame *f, double x) {
    return LEFT + (log10(x) - f->low[0]) / (f->high[0] - f->low[0]) * (WIDTH - LEFT - RIGHT);
}

static double place_y(const frame *f, double y) {
    return HEIGHT - BOTTOM -
           (log10(y) - f->low[1]) / (f->high[1] - f->low[1]) * (HEIGHT - TOP - BOTTOM);
}

static void find_decades(const plot *p, frame *f) {
    size_t i, k;
    int axis;
    for (axis = 0; axis < 2; axis++) {
        double least = HUGE_VAL, most = 0;
        for (i = 0; i < p->lines; i++)
            for (k = 0; k < p->line[i].points; k++) {
                double v = axis ? p->line[i].y[k] : p->line[i].x[k];
                least = fmin(least, v);
                most = fmax(most, v);
            }
        f->low[axis] = (int)floor(log10(least) + 1e-9);
        f->high[axis] = (int)ceil(log10(most) - 1e-9);
        if (f->high[axis] <= f->low[axis]) f->high[axis] = f->low[axis] + 1;
    }
}

/* For titles and names from elsewhere. */
static void put_text(FILE *file, const char *text) {
    for (; *text; text++) {
        if (*text == '&' || *text == '<' || *text == '>')
            fprintf(file, "&#%d;", *text);
        else
            fputc(*text, file);
    }
}

static void draw_grid(const frame *f) {
    int d;
    for (d = f->low[0]; d <= f->high[0]; d++) {
        double x = place_x(f, pow(10, d));
        fprintf(f->file,
                "<line x1='%.1f' y1='%d' x2='%.1f' y2='%d' stroke='#ddd'/>\n"
                "<text x='%.1f' y='%d' text-anchor='middle'>1e%d</text>\n",
                x, TOP, x, HEIGHT - BOTTOM, x, HEIGHT - BOTTOM + 18, d);
    }
    for (d = f->low[1]; d <= f->high[1]; d++) {
        double y = place_y(f, pow(10, d));
        fprintf(f->file,
                "<line x1='%d' y1='%.1f' x2='%d' y2='%.1f' stroke='#ddd'/>\n"
                "<text x='%d' y='%.1f' text-anchor='end'>1e%d</text>\n",
                LEFT, y, WIDTH - RIGHT, y, LEFT - 8, y + 4, d);
    }
}

static void draw_words(const frame *f, const plot *p) {
    fprintf(f->file, "<text x='%d' y='28' font-size='16'>", LEFT);
    put_text(f->file, p->title);
    fprintf(f->file, "</text>\n<text x='%d' y='%d' text-anchor='middle'>",
            (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 16);
    put_text(f->file, p->x_name);
    fprintf(f->file,
            "</text>\n<text transform='translate(22 %d) rotate(-90)' text-anchor='middle'>",
            (TOP + HEIGHT - BOTTOM) / 2);
    put_text(f->file, p->y_name);
    fprintf(f->file, "</text>\n");
}

/* Through the last point of the first line. */
static void draw_proportional(const frame *f, const plot_line *line) {
    double x = line->x[line->points - 1], y = line->y[line->points - 1];
    double from = pow(10, f->low[0]), to = pow(10, f->high[0]);
    double floor_x = x * pow(10, f->low[1]) / y, ceiling_x = x * pow(10, f->high[1]) / y;
    from = fmax(from, floor_x);
    to = fmin(to, ceiling_x);
    fprintf(
        f->file,
        "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='#888' stroke-dasharray='5 4'/>\n",
        place_x(f, from), place_y(f, from * y / x), place_x(f, to), place_y(f, to * y / x));
}

static void draw_line(const frame *f, const plot_line *line, size_t number) {
    const char *colour = colours[number % COLOURS];
    int y = TOP + 16 + 22 * (int)number;
    size_t k;
    fprintf(f->file, "<polyline fill='none' stroke='%s' stroke-width='2' points='", colour);
    for (k = 0; k < line->points; k++)
        fprintf(f->file, "%.1f,%.1f ", place_x(f, line->x[k]), place_y(f, line->y[k]));
    fprintf(f->file, "'/>\n");
    for (k = 0; k < line->points; k++)
        fprintf(f->file, "<circle cx='%.1f' cy='%.1f' r='3' fill='%s'/>\n", place_x(f, line->x[k]),
                place_y(f, line->y[k]), colour);
    fprintf(f->file,
            "<line x1='%d' y1='%d' x2='%d' y2='%d' stroke='%s' stroke-width='2'/>\n"
            "<text x='%d' y='%d'>",
            WIDTH - RIGHT + 12, y - 4, WIDTH - RIGHT + 34, y - 4, colour, WIDTH - RIGHT + 40, y);
    put_text(f->file, line->label);
    fprintf(f->file, "</text>\n");
}

bool plot_write_svg(const plot *p, const char *path) {
    frame f = {0};
    size_t i;
    bool good;
    find_decades(p, &f);
    f.file = fopen(path, "wb");
    if (!f.file) {
        cmd_error("%s cannot be written: %s", path, strerror(errno));
        return false;
    }
    fprintf(f.file,
            "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' viewBox='0 0 %d %d' "
            "font-family='sans-serif' font-size='12'>\n<rect width='100%%' height='100%%' "
            "fill='white'/>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT);
    draw_grid(&f);
    draw_words(&f, p);
    draw_proportional(&f, &p->line[0]);
    for (i = 0; i < p->lines; i++) draw_line(&f, &p->line[i], i);
    fprintf(f.file, "</svg>\n");
    good = !ferror(f.file);
    if (fclose(f.file) != 0) good = false;
    if (!good) cmd_error("%s cannot be written", path);
    return good;
}
