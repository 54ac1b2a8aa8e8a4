/* How much a launch asks of a device, in FLOP: watchdogs end a dispatch after seconds (2 s on
 * Windows and in amdgpu's compute ring), and a screen that shares the GPU stutters long before.
 *
 * Programs are bound by memory, products by arithmetic; one number serves both, since a tensor's
 * element counts for AM_WORK_TOUCH where it is read or written. */
#ifndef AM_WORK_H
#define AM_WORK_H

#include "backend.h"

/* An element that is read or written, with what is computed from it (an exp takes some 25). */
#define AM_WORK_TOUCH 32u
/* What is aimed at, 0.2 s on the slowest: for each core, and for all of them, where memory is the
 * limit: 40 GFLOP stand for 1.25e9 elements, 5 GB. */
#define AM_WORK_CORE UINT64_C(500000000)
#define AM_WORK_MOST UINT64_C(40000000000)

/* The bound for a GPU. */
uint64_t am_work_of_cores(uint32_t cores);
/* Columns times passes of a row that one group may take: alone it reads a few GB/s. Longer rows are
 * split, which costs no more bytes than streaming them. */
#define AM_GPU_LONGEST_ROW (UINT64_C(1) << 23)

/* Of the rows [row0, rows) and the parts of `args`. */
uint64_t am_row_work(const am_program *program, const am_row_args *args);
/* Of the rows [row0, m) of all members of the batch, in whole tiles. */
uint64_t am_product_work(const am_product_args *args);
/* Of copying so many bytes. */
uint64_t am_copy_work(size_t size_bytes);
/* Bytes that one command may copy or clear; a multiple of 64 KiB. */
size_t am_copy_most(uint64_t launch_work);

#endif
