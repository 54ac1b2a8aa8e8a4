/* anymax/anymax.h: the whole public interface, less the two headers for interoperation. */
#ifndef ANYMAX_ANYMAX_H
#define ANYMAX_ANYMAX_H

#include <anymax/call.h>
#include <anymax/core.h>
#include <anymax/loss.h>
#include <anymax/map.h>

#endif
