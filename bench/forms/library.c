/* library.c: the kernel shapes that the library chooses from, each forced in turn on one device. */
#include "command.h"
#include "forms.h"

#include <string.h>

#define SHAPES 6
#define ELEMENTS ((int64_t)1 << 22)

static const char *const skeleton[SHAPES] = {
    "", "skeleton=short", "skeleton=chip", "skeleton=stream", "skeleton=split", "skeleton=across"};

/* On a CPU device one thread; drivers of the other kinds have threads of their own. */
typedef struct library_job {
    anymax_device *device;
    anymax_stream *stream;
    anymax_buffer *x, *y;
    contest_rows rows;
} library_job;

static size_t bytes_of(const contest_rows *rows) {
    return (size_t)(rows->rows * rows->n) * sizeof(float);
}

static bool run(void *user) {
    const library_job *j = user;
    anymax_map softmax = {0};
    int64_t shape[2] = {j->rows.rows, j->rows.n};
    anymax_tensor x = anymax_buffer_tensor(j->x, 0, ANYMAX_F32, 2, shape);
    anymax_tensor y = anymax_buffer_tensor(j->y, 0, ANYMAX_F32, 2, shape);
    return anymax_map_forward(j->stream, &softmax, &x, &y) == ANYMAX_OK &&
           anymax_stream_sync(j->stream) == ANYMAX_OK;
}

static bool open_job(library_job *j, const char *selector, const char *pretend) {
    anymax_device_desc desc = {.selector = selector, .threads = 1, .pretend = pretend};
    return anymax_device_open(&desc, &j->device) == ANYMAX_OK &&
           anymax_stream_create(j->device, NULL, &j->stream) == ANYMAX_OK &&
           anymax_buffer_create(j->device, bytes_of(&j->rows), &j->x) == ANYMAX_OK &&
           anymax_buffer_create(j->device, bytes_of(&j->rows), &j->y) == ANYMAX_OK &&
           anymax_buffer_write(j->stream, j->x, 0, j->rows.x, bytes_of(&j->rows)) == ANYMAX_OK &&
           anymax_buffer_write(j->stream, j->y, 0, j->rows.y, bytes_of(&j->rows)) == ANYMAX_OK &&
           anymax_stream_sync(j->stream) == ANYMAX_OK;
}

static void close_job(library_job *j) {
    anymax_stream_release(j->stream);
    anymax_buffer_release(j->x);
    anymax_buffer_release(j->y);
    anymax_device_release(j->device);
}

/* What it has computed, against double. */
static bool check(library_job *j, double *error) {
    bool good =
        run(j) &&
        anymax_buffer_read(j->stream, j->y, 0, j->rows.y, bytes_of(&j->rows)) == ANYMAX_OK &&
        anymax_stream_sync(j->stream) == ANYMAX_OK;
    if (good) *error = contest_error(&j->rows, false);
    return good;
}

static bool measure(const char *selector, const char *shape, double seconds, cmd_table *table) {
    contest_rows rows;
    library_job job[SHAPES];
    contestant all[SHAPES];
    double error[SHAPES];
    bool good = contest_parse(shape, &rows);
    size_t i;
    if (!good) {
        cmd_usage(NULL, "%s is not a shape", shape);
        return false;
    }
    if (!strchr(shape, 'x')) rows.rows = ELEMENTS / rows.n > 0 ? ELEMENTS / rows.n : 1;
    memset(job, 0, sizeof job);
    memset(all, 0, sizeof all);
    good = contest_rows_make(&rows);
    for (i = 0; good && i < SHAPES; i++) {
        job[i].rows = rows;
        good = open_job(&job[i], selector, skeleton[i]) && check(&job[i], &error[i]);
        all[i].run = run;
        all[i].user = &job[i];
        all[i].threads = good && strcmp(anymax_device_get_info(job[i].device)->backend, "cpu") != 0;
    }
    good = good && contest_run(all, SHAPES, seconds);
    if (!good) cmd_error("%s could not be measured: %s", shape, anymax_error_message());
    for (i = 0; good && i < SHAPES; i++)
        cmd_table_add(table, "%s\t%s\t%.2f\t%.2f\t%.1e", i ? "" : shape,
                      i ? skeleton[i] + strlen("skeleton=") : "its own choice",
                      contest_gbps(&all[i], 8 * (double)(rows.rows * rows.n)), all[i].share,
                      error[i]);
    for (i = 0; i < SHAPES; i++) close_job(&job[i]);
    contest_rows_free(&rows);
    return good;
}

bool forms_of_library(const char *selector, const char *const *shapes, double seconds) {
    cmd_table table;
    bool good = true;
    cmd_table_start(&table, "llrrr");
    cmd_table_add(&table, "shape\tskeleton\tGB/s\tof its choice\terror");
    for (; good && *shapes; shapes++) good = measure(selector, *shapes, seconds, &table);
    printf("softmax forward, f32, on %s; GB/s of a read and a write\n", selector);
    cmd_table_print(&table);
    return good;
}
