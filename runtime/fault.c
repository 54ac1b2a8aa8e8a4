/* Faults on purpose (see fault.h). */
#include "fault.h"

#include <stddef.h>

void am_fault_arm(am_faults *faults, am_fault kind, uint32_t at, uint32_t times) {
    faults->at[kind] = at;
    faults->times[kind] = kind == AM_FAULT_LOST ? UINT32_MAX : times;
    atomic_store(&faults->calls[kind], 0);
    atomic_store(&faults->fired, 0);
    faults->armed = false;
    for (int k = 0; k < AM_FAULT_COUNT; k++) faults->armed |= faults->at[k] != 0;
}

void am_fault_arm_all(am_faults *faults, const am_pretend *pretend) {
    const uint32_t times = pretend->times ? pretend->times : 1;
    am_fault_arm(faults, AM_FAULT_OOM, pretend->oom, times);
    am_fault_arm(faults, AM_FAULT_COMPILE, pretend->compile, times);
    am_fault_arm(faults, AM_FAULT_SUBMIT, pretend->submit, times);
    am_fault_arm(faults, AM_FAULT_WAIT, pretend->wait, times);
    am_fault_arm(faults, AM_FAULT_LOST, pretend->lost, times);
}

static bool counts(am_faults *faults, am_fault kind) {
    const uint32_t at = faults->at[kind];
    uint32_t call;
    if (!at) return false;
    call = atomic_fetch_add(&faults->calls[kind], 1) + 1;
    return call >= at && call - at < faults->times[kind];
}

am_fault am_fault_strikes(am_faults *faults, am_fault kind) {
    am_fault answer = AM_FAULT_NONE;
    if (!faults || !faults->armed) return AM_FAULT_NONE;
    if (counts(faults, kind)) answer = kind;
    if (counts(faults, AM_FAULT_LOST)) answer = AM_FAULT_LOST;
    if (answer != AM_FAULT_NONE) atomic_fetch_add(&faults->fired, 1);
    return answer;
}

unsigned am_fault_fired(am_faults *faults) {
    return atomic_load(&faults->fired);
}
