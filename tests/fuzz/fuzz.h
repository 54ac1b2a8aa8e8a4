/* fuzz.h: what the fuzz targets share. A target is one function that takes bytes from anywhere; it
 * ends the process where the code under test has broken a promise. */
#ifndef ANYMAX_TESTS_FUZZ_H
#define ANYMAX_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct io_array;
/* Looks at all of an array that a reader has made. */
void fuzz_use_array(struct io_array *array);

static inline void fuzz_check(bool good, const char *promise, const char *detail) {
    if (good) return;
    fprintf(stderr, "broken promise: %s (%s)\n", promise, detail);
    abort();
}

/* A message is one line of text, whatever was quoted in it. */
static inline void fuzz_sentence(const char *text) {
    const char *at;
    fuzz_check(*text != 0, "a failure has a message", "none");
    for (at = text; *at; at++)
        fuzz_check((unsigned char)*at >= 32 && *at != 127, "a message is one line", text);
}

/* ---------------------------------------------------------------- structure from bytes */

typedef struct fuzz_bytes {
    const uint8_t *at, *end;
} fuzz_bytes;

/* The next bytes as a number, little-endian; zero behind the end. */
static inline uint64_t fuzz_number(fuzz_bytes *bytes, unsigned size) {
    uint64_t value = 0;
    unsigned i;
    for (i = 0; i < size && bytes->at < bytes->end; i++) value |= (uint64_t)*bytes->at++ << 8 * i;
    return value;
}

static inline unsigned fuzz_byte(fuzz_bytes *bytes) {
    return (unsigned)fuzz_number(bytes, 1);
}

/* Text up to the next newline or the end, which is not kept; to be freed. */
static inline char *fuzz_text(fuzz_bytes *bytes) {
    size_t left = (size_t)(bytes->end - bytes->at);
    const uint8_t *line = left ? memchr(bytes->at, '\n', left) : NULL;
    size_t length = line ? (size_t)(line - bytes->at) : left;
    char *text = malloc(length + 1);
    if (!text) abort();
    if (length) memcpy(text, bytes->at, length);
    text[length] = 0;
    bytes->at += length + (line != NULL);
    return text;
}

#endif
