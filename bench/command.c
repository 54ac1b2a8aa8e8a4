/* command.c: options, messages, progress. */
#include "command.h"
#include "system.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static int verbose;
static int help_wanted;
static size_t progress_width; /* of the line that stands on the terminal */

static struct poptOption common[] = {
    {"verbose", 'v', POPT_ARG_NONE, &verbose, 0, "Report progress on stderr", NULL},
    {"help", 'h', POPT_ARG_NONE, &help_wanted, 0, "Show this help", NULL},
    POPT_TABLEEND};

static void print_help(const cmd_help *help, poptContext context) {
    printf("%s\n", help->text);
    fflush(stdout);
    poptSetOtherOptionHelp(context, help->arguments);
    poptPrintHelp(context, stdout, 0);
    if (help->examples) printf("\nExamples:\n%s", help->examples);
}

bool cmd_parse(const cmd_help *help, int argc, const char **argv, struct poptOption *options,
               poptContext *context, int *code) {
    struct poptOption table[] = {
        {NULL, 0, POPT_ARG_INCLUDE_TABLE, options, 0, "Options:", NULL},
        {NULL, 0, POPT_ARG_INCLUDE_TABLE, common, 0, "Common options:", NULL},
        POPT_TABLEEND};
    static struct poptOption kept[3]; /* popt keeps the address; one verb runs in a process */
    static char name[32];
    static const char *args[1024];
    int found, i;
    *context = NULL;
    if (argc >= (int)(sizeof args / sizeof *args)) {
        *code = cmd_usage(help->verb, "more than 1,000 arguments");
        return false;
    }
    memcpy(kept, table, sizeof table);
    snprintf(name, sizeof name, "anymax %s", help->verb);
    args[0] = name;
    for (i = 1; i < argc; i++) args[i] = argv[i];
    *context = poptGetContext(NULL, argc, args, kept, 0);
    while ((found = poptGetNextOpt(*context)) >= 0) {
    }
    if (found < -1) {
        *code = cmd_usage(help->verb, "%s: %s", poptBadOption(*context, POPT_BADOPTION_NOALIAS),
                          poptStrerror(found));
        return false;
    }
    if (!help_wanted) return true;
    print_help(help, *context);
    *code = CMD_OK;
    return false;
}

static void vmessage(const char *format, va_list args) {
    cmd_progress_end();
    fflush(stdout);
    fputs("anymax: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}

int cmd_error(const char *format, ...) {
    va_list args;
    va_start(args, format);
    vmessage(format, args);
    va_end(args);
    return CMD_FAILED;
}

int cmd_usage(const char *verb, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vmessage(format, args);
    va_end(args);
    if (verb)
        fprintf(stderr, "Try 'anymax %s --help'.\n", verb);
    else
        fprintf(stderr, "Try 'anymax --help'.\n");
    return CMD_USAGE;
}

void cmd_progress(const char *format, ...) {
    char line[160];
    va_list args;
    bool watched = system_is_terminal(stderr);
    if (!watched && !verbose) return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (watched && !verbose) {
        fprintf(stderr, "\r%-*s", (int)progress_width, line);
        progress_width = strlen(line);
    } else {
        fprintf(stderr, "%s\n", line);
    }
    fflush(stderr);
}

void cmd_progress_end(void) {
    if (progress_width) fprintf(stderr, "\r%-*s\r", (int)progress_width, "");
    progress_width = 0;
}

void cmd_free_text(char *text) {
    free(text);
}

void cmd_free_args(char **args) {
    char **at;
    for (at = args; at && *at; at++) free(*at);
    free(args);
}

bool cmd_parse_int(const char *text, long long low, long long high, long long *value) {
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return end != text && !*end && errno == 0 && *value >= low && *value <= high;
}
