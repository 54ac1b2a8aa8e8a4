/* How a selector chooses among devices, and the list in ANYMAX_SKIP: text against text, no device
 * is touched. */
#ifndef AM_SELECTOR_H
#define AM_SELECTOR_H

#include <anymax/core.h>

/* Equal but for upper and lower case. */
bool am_same_text(const char *a, const char *b);
/* Whether the list "a,b" has the name; blanks around an item and its case do not matter. */
bool am_list_has(const char *list, const char *name);
/* Whether the selector is of that backend, as "vulkan" and "vulkan:1" are. */
bool am_selector_names(const char *selector, const char *backend);
/* How well a device fits the selector: 0 not at all, AM_FIT_EXACT if it is the very device. */
int am_selector_fit(const char *selector, const anymax_device_info *info);

#define AM_FIT_EXACT 100

/* Whether the value of a variable switches something off: "off", "0" or "no"; NULL does not. */
bool am_is_off(const char *value);

#endif
