/* bench.c: `anymax bench`: its options and modes. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

/* As popt has them. */
typedef struct bench_texts {
    char *threads, *seconds, *most;
    int full, latency, scaling;
} bench_texts;

/* 0, or the exit code after a message. */
static int check_options(bench_options *o, const bench_texts *texts) {
    char **at;
    uint32_t rank;
    int64_t shape[ANYMAX_MAX_RANK];
    long long threads = 0, most = 10000000;
    char *end = "";
    for (at = o->shape; at && *at; at++)
        if (!bench_parse_shape(*at, &rank, shape))
            return cmd_usage(
                "bench", "--shape is sizes with an x between them, as 4096x4096, not '%s'", *at);
    for (at = o->dtype; at && *at; at++)
        if (strcmp(*at, "f32") != 0 && strcmp(*at, "f16") != 0 && strcmp(*at, "bf16") != 0)
            return cmd_usage("bench", "--dtype is f32, f16 or bf16, not '%s'", *at);
    if (o->direction && strcmp(o->direction, "forward") != 0 &&
        strcmp(o->direction, "backward") != 0 && strcmp(o->direction, "both") != 0)
        return cmd_usage("bench", "--direction is forward, backward or both, not '%s'",
                         o->direction);
    if (texts->threads && !cmd_parse_int(texts->threads, 1, 4096, &threads))
        return cmd_usage("bench", "--threads is a number from 1 to 4096, not '%s'", texts->threads);
    if (texts->latency && texts->scaling)
        return cmd_usage("bench", "--latency and --scaling do not go together");
    if ((texts->latency || texts->scaling) && (o->shape || o->dtype || o->direction))
        return cmd_usage("bench", "--latency and --scaling have shapes, type and direction of "
                                  "their own");
    if (o->svg && !texts->scaling) return cmd_usage("bench", "--svg is the picture of --scaling");
    if (texts->most && !texts->scaling) return cmd_usage("bench", "--most is the end of --scaling");
    if (texts->most && !cmd_parse_int(texts->most, 1000, 1000000000, &most))
        return cmd_usage("bench", "--most is a number from 1000 to 1000000000, not '%s'",
                         texts->most);
    o->most = (double)most;
    if (o->json && texts->scaling) return cmd_usage("bench", "--scaling writes no JSON");
    o->threads = (uint32_t)threads;
    o->full = texts->full != 0;
    o->seconds = texts->seconds ? strtod(texts->seconds, &end) : 0.3;
    if (*end || end == texts->seconds || !(o->seconds > 0 && o->seconds <= 3600))
        return cmd_usage("bench", "--seconds is a number above 0, not '%s'", texts->seconds);
    return CMD_OK;
}

int cmd_bench(int argc, const char **argv) {
    static const cmd_help help = {
        "bench", "[OPTION...] [OP]",
        "Measures one operation or all: time, GB/s, and the share of what a copy (or a read, for\n"
        "operations that write next to nothing) of as many bytes reaches on the same device, in "
        "the\n"
        "same process, in turn with the operation. Every case is checked against double precision\n"
        "before it is timed. Without --device: ANYMAX_DEVICE, else the CPU.\n\n"
        "--latency measures the first call of the process, and a call of softmax on a row of 64 "
        "beside\n"
        "a launch of an empty kernel. --scaling measures time against the number of elements, "
        "from\n"
        "1e3 to 1e7 or --most (1e8 takes 4 GB), on the CPU with one thread and with two.\n\n"
        "--threads counts for the CPU device alone. Drivers that run on the processor have "
        "variables\n"
        "of their own: POCL_MAX_PTHREAD_COUNT=1 (PoCL), LP_NUM_THREADS=1 (lavapipe).\n",
        "  anymax bench softmax\n"
        "  anymax bench softmax --device cpu --device vulkan:0 --shape 4096x4096 --shape "
        "8x1048576\n"
        "  anymax bench cross_entropy --threads 1 --direction both --shape 4096x32000\n"
        "  anymax bench --threads 1 --dtype f16 --direction backward --json results.json\n"
        "  anymax bench --latency --device all\n"
        "  anymax bench --scaling softmax --svg scaling.svg\n"};
    bench_options o = {0};
    bench_texts texts = {0};
    const anymax_op_info *op = NULL;
    const char *name;
    int code;
    struct poptOption options[] = {
        {"device", 'd', POPT_ARG_ARGV, &o.device, 0, "A device, or all; may be given many times",
         "DEVICE"},
        {"shape", 's', POPT_ARG_ARGV, &o.shape, 0,
         "Shape of the first input, the row last; may be given many times", "ROWSxN"},
        {"dtype", 't', POPT_ARG_ARGV, &o.dtype, 0, "f32 (default), f16 or bf16; likewise", "TYPE"},
        {"direction", 0, POPT_ARG_STRING, &o.direction, 0,
         "forward or backward (default: each of them), or both as one", "WAY"},
        {"full", 0, POPT_ARG_NONE, &texts.full, 0,
         "Rows of 64 to 1,048,576, sizes of vocabularies, all types: minutes an operation", NULL},
        {"latency", 0, POPT_ARG_NONE, &texts.latency, 0, "Cost of a first and of a tiny call",
         NULL},
        {"scaling", 0, POPT_ARG_NONE, &texts.scaling, 0, "Time against rows and row length", NULL},
        {"most", 0, POPT_ARG_STRING, &texts.most, 0, "Elements at the end of --scaling", "N"},
        {"svg", 0, POPT_ARG_STRING, &o.svg, 0, "Picture of --scaling", "FILE"},
        {"threads", 'n', POPT_ARG_STRING, &texts.threads, 0, "Threads of the CPU device", "N"},
        {"seconds", 0, POPT_ARG_STRING, &texts.seconds, 0, "Time for each measurement, default 0.3",
         "S"},
        {"json", 'j', POPT_ARG_STRING, &o.json, 0, "Write JSON too; - is stdout, without the table",
         "FILE"},
        POPT_TABLEEND};
    poptContext context;
    if (!cmd_parse(&help, argc, argv, options, &context, &code)) goto done;
    code = check_options(&o, &texts);
    if (code != CMD_OK) goto done;
    name = poptGetArg(context);
    code = CMD_FAILED;
    if (name && poptPeekArg(context))
        code = cmd_usage("bench", "one operation at most, not also '%s'", poptPeekArg(context));
    else if (name && texts.latency)
        code = cmd_usage("bench", "--latency takes no operation, not '%s'", name);
    else if (!name || (op = call_find_op(name)) != NULL)
        code = texts.latency   ? bench_latency(&o)
               : texts.scaling ? bench_scaling(&o, op)
                               : bench_measure(&o, op);
done:
    cmd_free_args(o.device);
    cmd_free_args(o.shape);
    cmd_free_args(o.dtype);
    cmd_free_text(o.direction);
    cmd_free_text(o.json);
    cmd_free_text(o.svg);
    cmd_free_text(texts.threads);
    cmd_free_text(texts.seconds);
    cmd_free_text(texts.most);
    poptFreeContext(context);
    return code;
}
