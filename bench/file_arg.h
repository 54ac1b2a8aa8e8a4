/* file_arg.h: arrays as arguments: FILE.npy, FILE.safetensors:TENSOR, or [[1, 2], [3, 4]]. */
#ifndef ANYMAX_BENCH_FILE_ARG_H
#define ANYMAX_BENCH_FILE_ARG_H

#include "array.h"

bool file_arg_load(const char *text, io_array *array, io_error *error);
/* To a file of one of the two kinds; the name's end says which. */
bool file_arg_save(const char *text, const io_array *array, io_error *error);
/* Refuses, before any work, a name that file_arg_save would refuse. */
bool file_arg_can_save(const char *text, io_error *error);

#endif
