/* In the place of an API's loader: BEHAVIOUR as soon as it is loaded, or a library without any of
 * the functions. */
#include "misbehave.h"

__attribute__((constructor)) static void loaded(void) {
    misbehave(BEHAVIOUR);
}
