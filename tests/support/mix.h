/* Mixed operations for tests of threads and of repetition: what a turn computes follows from its
 * number alone. */
#ifndef SUPPORT_MIX_H
#define SUPPORT_MIX_H

#include <anymax/anymax.h>

#define MIX_KINDS 8

/* Runs turn `number` on a stream and waits for it. Returns a hash of all that came out, or 0 after
 * a failure, with the message of the thread set. Kinds of turns follow each other: numbers 0 to
 * MIX_KINDS - 1 are one of each. Turns create and release buffers and streams as they go. */
uint64_t mix_turn(anymax_stream *stream, uint32_t number);

#endif
