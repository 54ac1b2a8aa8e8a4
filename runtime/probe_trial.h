/* One trial of a backend's drivers: the helper runs, and if it fails, what is at fault. */
#ifndef AM_PROBE_TRIAL_H
#define AM_PROBE_TRIAL_H

#include "probe.h"

#define AM_TRIAL_SETTINGS 4
#define AM_TRIAL_SETTING_BYTES 8192
#define AM_TRIAL_MESSAGE_BYTES 900

typedef struct am_trial {
    const am_drivers *drivers;
    am_driver_list list;
    char helper[1024];
    /* Backends whose drivers this process has loaded are listed first, since they may not go
     * together: their names and this backend's, and " after opencl" for people. */
    char chain[64], after[64];
    uint32_t seconds;
    am_child child;                                   /* with everything as it is */
    bool keep[AM_DRIVERS_MAX], works[AM_DRIVERS_MAX]; /* what a run is given; what has devices */
    size_t working;
    char setting[AM_TRIAL_SETTINGS][AM_TRIAL_SETTING_BYTES];
    char advice[AM_TRIAL_SETTING_BYTES], named[AM_TRIAL_MESSAGE_BYTES];
} am_trial;

/* False: the helper does not work, and nothing is known. Else `message` (AM_TRIAL_MESSAGE_BYTES) is
 * "" where the drivers may be listed here, or says what is wrong and what to do. */
bool am_trial_run(am_trial *trial, char *message);
/* Adds to a text, as far as it has room. */
void am_text_add(char *text, size_t size, const char *more);

#endif
