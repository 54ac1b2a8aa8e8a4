/* main.c: the command `anymax`: finds the verb and runs it. */
#include "command.h"

#include <string.h>

static const struct {
    const char *name;
    int (*run)(int argc, const char **argv);
    const char *summary;
} verbs[] = {
    {"devices", cmd_devices, "list the devices, and why a backend has none"},
    {"ops", cmd_ops, "list the operations, or describe one"},
    {"run", cmd_run, "run an operation, or its gradient, on files"},
    {"verify", cmd_verify, "check results against double precision"},
    {"bench", cmd_bench, "measure speed against a copy by the same device"},
    {"digits", cmd_digits, "classify real handwritten digits on every device"},
};

static void print_help(void) {
    size_t i;
    printf(
        "anymax runs softmax and what people put in its place on CPU, OpenCL and Vulkan devices.\n"
        "\nUsage: anymax VERB [OPTION...] [ARGUMENT...]\n\n");
    for (i = 0; i < sizeof verbs / sizeof *verbs; i++)
        printf("  %-9s%s\n", verbs[i].name, verbs[i].summary);
    printf(
        "\n'anymax VERB --help' tells more; 'anymax --version' gives the version.\n"
        "Results go to stdout, everything else to stderr. Exit code: 0 all is well, 1 something\n"
        "failed or does not agree, 2 the command line was not understood.\n\n"
        "Environment: ANYMAX_DEVICE (default device), ANYMAX_THREADS, ANYMAX_CACHE=off,\n"
        "ANYMAX_PRETEND (lowered limits), ANYMAX_DATA (folder of the golden files).\n");
}

static void print_version(void) {
    unsigned v = (unsigned)anymax_version();
    printf("anymax %u.%u.%u\n", v / 1000000, v / 1000 % 1000, v % 1000);
}

static void print_warning(void *user, const char *message) {
    (void)user;
    cmd_error("warning: %s", message);
}

static int run_verb(int argc, const char **argv) {
    size_t i;
    for (i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(argv[1], verbs[i].name) == 0) return verbs[i].run(argc - 1, argv + 1);
    return cmd_usage(NULL, "there is no verb '%s'", argv[1]);
}

int main(int argc, char **argv) {
    int code = CMD_OK;
    if (argc < 2) {
        print_help();
        return CMD_USAGE;
    }
    anymax_set_log(print_warning, NULL);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0)
        print_help();
    else if (strcmp(argv[1], "--version") == 0)
        print_version();
    else
        code = run_verb(argc, (const char **)argv);
    cmd_progress_end();
    if (fflush(stdout) != 0 || ferror(stdout)) return cmd_error("stdout cannot be written");
    return code;
}
