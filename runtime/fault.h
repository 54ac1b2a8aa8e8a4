/* Faults on purpose: the n-th call of a kind that a device makes to its driver fails, so that what
 * comes after a failure is run by tests. ANYMAX_PRETEND sets them (see pretend.h).
 *
 * A backend asks right before each such call and, when the fault strikes, goes on as if the driver
 * had answered with that error; the call itself is left out. */
#ifndef AM_FAULT_H
#define AM_FAULT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "pretend.h"

typedef enum am_fault {
    AM_FAULT_NONE = 0,
    AM_FAULT_OOM,     /* memory of the device, and every object of the driver */
    AM_FAULT_COMPILE, /* a kernel, a shader module, a pipeline; also one that a cache holds */
    AM_FAULT_SUBMIT,  /* handing over work */
    AM_FAULT_WAIT,    /* waiting for it */
    AM_FAULT_LOST,    /* any of these, and all that follow */
    AM_FAULT_COUNT
} am_fault;

typedef struct am_faults {
    uint32_t at[AM_FAULT_COUNT], times[AM_FAULT_COUNT]; /* at 0: never */
    atomic_uint calls[AM_FAULT_COUNT];
    atomic_uint fired;
    bool armed;
} am_faults;

/* Calls `at` to `at + times - 1` of this kind from now on fail; a loss lasts. Not while other
 * threads use the device. */
void am_fault_arm(am_faults *faults, am_fault kind, uint32_t at, uint32_t times);
/* What a pretended device asks for. */
void am_fault_arm_all(am_faults *faults, const am_pretend *pretend);

/* Counts a call of this kind: AM_FAULT_NONE, or what it is to fail with: `kind` or AM_FAULT_LOST.
 * Thread-safe. */
am_fault am_fault_strikes(am_faults *faults, am_fault kind);
/* How many calls have been made to fail. */
unsigned am_fault_fired(am_faults *faults);

#endif
