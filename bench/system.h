/* system.h: what standard C cannot tell or do. */
#ifndef ANYMAX_BENCH_SYSTEM_H
#define ANYMAX_BENCH_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Folder of the running program, without a slash at its end; false if the platform does not tell.
 */
bool system_program_folder(char *out, size_t size);

/* Whether a person watches this stream. */
bool system_is_terminal(FILE *stream);

void system_sleep(double seconds); /* below one */

#endif
