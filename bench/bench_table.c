/* bench_table.c: results of `anymax bench` for people. */
#include "bench.h"

void bench_time_text(char *text, size_t size, double ns) {
    if (ns < 1e3)
        snprintf(text, size, "%.0f ns", ns);
    else if (ns < 1e6)
        snprintf(text, size, "%.1f us", ns / 1e3);
    else
        snprintf(text, size, "%.2f ms", ns / 1e6);
}

static void add_row(cmd_table *table, const bench_result *r) {
    char first[32], median[32], quartile[32], anchor[48] = "-", share[32] = "-", best[32] = "-";
    bench_time_text(first, sizeof first, r->time.first_ns);
    bench_time_text(median, sizeof median, r->time.median_ns);
    bench_time_text(quartile, sizeof quartile, r->time.quartile_ns);
    if (r->anchor) {
        snprintf(anchor, sizeof anchor, "%s %.1f", r->anchor, r->anchor_gbps);
        snprintf(share, sizeof share, "%.2f", r->share);
        snprintf(best, sizeof best, "%.2f", r->share_best);
    }
    cmd_table_add(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.0f %%\t%.2f\t%.2f\t%s\t%s\t%s", r->op,
                  r->direction, r->shape, r->dtype, r->device, first, median, quartile,
                  100 * r->time.spread, bench_gbps(r), r->elements / r->time.median_ns, anchor,
                  share, best);
}

void bench_print_table(const bench_result *results, size_t count) {
    cmd_table table;
    size_t i;
    cmd_table_start(&table, "lllllrrrrrrrrr");
    cmd_table_add(&table,
                  "operation\tdirection\tshape\ttype\tdevice\tfirst\tmedian\tquarter\tspread"
                  "\tGB/s\tGelem/s\tanchor\tshare\tbest");
    for (i = 0; i < count; i++) add_row(&table, &results[i]);
    cmd_table_print(&table);
    printf(
        "\nquarter: of the rounds were as fast; spread: between the quartiles, of the median.\n"
        "GB/s: bytes that the definition reads and writes, over the median time; anchor: of a "
        "copy or a\nread of as many bytes by the same device, in turn with the operation; share: "
        "GB/s over the\nanchor's, the median of all rounds; best: a quarter of the rounds were "
        "better.\n");
}
