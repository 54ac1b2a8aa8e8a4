/* command.h: what the verbs of the command share: options, messages, devices, tables, data files.
 */
#ifndef ANYMAX_BENCH_COMMAND_H
#define ANYMAX_BENCH_COMMAND_H

#include "array.h"

#include <anymax/anymax.h>
#include <popt.h>

/* Exit codes. */
enum { CMD_OK = 0, CMD_FAILED = 1, CMD_USAGE = 2 };

int cmd_devices(int argc, const char **argv);
int cmd_ops(int argc, const char **argv);
int cmd_run(int argc, const char **argv);
int cmd_verify(int argc, const char **argv);
int cmd_bench(int argc, const char **argv);
int cmd_digits(int argc, const char **argv);

/* ---------------------------------------------------------------- options and messages */

typedef struct cmd_help {
    const char *verb;
    const char *arguments; /* behind the options in the usage line */
    const char *text;      /* what the verb does; ends with a line feed */
    const char *examples;
} cmd_help;

/* Parses the options of a verb; --help and --verbose come with every table. Returns true to go on,
 * else *code is the exit code. `*context` is to be freed with poptFreeContext in both cases; its
 * poptGetArgs are the other arguments. */
bool cmd_parse(const cmd_help *help, int argc, const char **argv, struct poptOption *options,
               poptContext *context, int *code);

/* "anymax: ..." on stderr, one line. cmd_usage adds where help is; both return the exit code. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
int cmd_error(const char *format, ...);
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
int cmd_usage(const char *verb, const char *format, ...);

/* A line on stderr that the next one overwrites, for long work: where a person watches, or with
 * --verbose (then a line each). cmd_progress_end wipes it. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
void cmd_progress(const char *format, ...);
void cmd_progress_end(void);

/* What popt allocated for POPT_ARG_STRING and POPT_ARG_ARGV. */
void cmd_free_text(char *text);
void cmd_free_args(char **args);

/* Whole text as a number, within bounds. */
bool cmd_parse_int(const char *text, long long low, long long high, long long *value);

/* ---------------------------------------------------------------- devices */

typedef struct cmd_devices_open {
    anymax_device **device;
    size_t count;
    size_t failed; /* devices that could not be opened, already reported */
} cmd_devices_open;

/* Opens each device named; "all" is every one found. Without a name: all of them if `all`, unless
 * ANYMAX_DEVICE is set, else the library's default. A device is opened once. False if none opened
 * or a selector fits nothing. */
bool cmd_open_devices(char *const *selectors, bool all, uint32_t threads, cmd_devices_open *out);
void cmd_close_devices(cmd_devices_open *devices);

/* Selectors of all devices; NULL-terminated, freed with cmd_free_list. `tell`: backends that cannot
 * be used are told on stderr, so that "all" does not pass for more than it is. */
char **cmd_list_devices(bool tell);
void cmd_free_list(char **list);

static inline const char *cmd_selector(const anymax_device *device) {
    return anymax_device_get_info(device)->selector;
}

/* ---------------------------------------------------------------- tables */

#define CMD_MAX_COLUMNS 16

/* Rows of text, printed on stdout with columns as wide as they need. */
typedef struct cmd_table {
    size_t columns;
    const char *format; /* a letter for each column: l left, r right */
    char **cell;
    size_t cells, room;
} cmd_table;

void cmd_table_start(cmd_table *table, const char *format);
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void cmd_table_add(cmd_table *table, const char *format, ...);
void cmd_table_print(cmd_table *table); /* and frees; the first row is the heading */

/* ---------------------------------------------------------------- data files */

/* Path of a file that comes with the command: in $ANYMAX_DATA, else beside the installed program,
 * else in the source tree. `folder` is "golden" or "data". False if it is nowhere. */
bool cmd_data_path(const char *folder, const char *name, char *out, size_t size);
/* The places that were looked into, for a message. */
void cmd_data_places(const char *folder, char *out, size_t size);

#endif
