/* The grammar of ANYMAX_PRETEND (see pretend.h). */
#include "pretend.h"

#include "error.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

/* Every tensor of a workspace begins at a multiple. */
#define MOST_ALIGN 65536

typedef enum value_kind {
    COUNT_32,
    COUNT_64,
    BYTES_32,
    BYTES_64,
    ALIGN_32,
    SUBGROUP,
    ABSENT, /* 0 sets the field */
    WORD
} value_kind;

typedef struct key {
    const char *name;
    value_kind kind;
    size_t offset;     /* in am_pretend */
    const char *words; /* WORD: "a|b|c", numbered from 1; the enumerations agree */
} key;

static const key keys[] = {
    {"groups", COUNT_32, offsetof(am_pretend, groups), NULL},
    {"invocations", COUNT_32, offsetof(am_pretend, invocations), NULL},
    {"shared", BYTES_32, offsetof(am_pretend, shared_bytes), NULL},
    {"subgroup", SUBGROUP, offsetof(am_pretend, subgroup), NULL},
    {"range", BYTES_64, offsetof(am_pretend, range_bytes), NULL},
    {"buffers", COUNT_32, offsetof(am_pretend, buffers), NULL},
    {"align", ALIGN_32, offsetof(am_pretend, align), NULL},
    {"alloc", BYTES_64, offsetof(am_pretend, alloc_bytes), NULL},
    {"storage16", ABSENT, offsetof(am_pretend, no_storage16), NULL},
    {"mapped", ABSENT, offsetof(am_pretend, no_mapped), NULL},
    {"trips", COUNT_32, offsetof(am_pretend, trips), NULL},
    {"memory", BYTES_64, offsetof(am_pretend, memory_bytes), NULL},
    {"work", COUNT_64, offsetof(am_pretend, work), NULL},
    {"shape", WORD, offsetof(am_pretend, shape), "cpu|gpu"},
    {"skeleton", WORD, offsetof(am_pretend, skeleton), "short|chip|stream|split|across"},
    {"reduce", WORD, offsetof(am_pretend, reduce), "tree|subgroup"},
    {"level", WORD, offsetof(am_pretend, level), "generic|v2|v3|v4|neon"},
    {"part", COUNT_32, offsetof(am_pretend, part), NULL},
    {"oom", COUNT_32, offsetof(am_pretend, oom), NULL},
    {"compile", COUNT_32, offsetof(am_pretend, compile), NULL},
    {"submit", COUNT_32, offsetof(am_pretend, submit), NULL},
    {"wait", COUNT_32, offsetof(am_pretend, wait), NULL},
    {"lost", COUNT_32, offsetof(am_pretend, lost), NULL},
    {"times", COUNT_32, offsetof(am_pretend, times), NULL},
};

/* Digits and, if `suffix`, one of k, m, g. Nothing else, and nothing that overflows `most`. */
static bool parse_number(const char *text, size_t length, bool suffix, uint64_t most,
                         uint64_t *out) {
    uint64_t value = 0;
    unsigned shift = 0;
    size_t i = 0;
    if (length > 1 && suffix) {
        char last = text[length - 1];
        shift = last == 'k' ? 10 : last == 'm' ? 20 : last == 'g' ? 30 : 0;
        if (shift) length--;
    }
    if (length == 0) return false;
    for (; i < length; i++) {
        unsigned digit = (unsigned)(unsigned char)text[i] - '0';
        if (digit > 9 || value > (most - digit) / 10) return false;
        value = value * 10 + digit;
    }
    if (value > most >> shift) return false;
    *out = value << shift;
    return true;
}

/* Number of the word in "a|b|c", from 1; 0 if it is not there. */
static int find_word(const char *words, const char *text, size_t length) {
    int number = 1;
    while (*words) {
        size_t size = strcspn(words, "|");
        if (size == length && memcmp(words, text, length) == 0) return number;
        words += size + (words[size] == '|');
        number++;
    }
    return 0;
}

static const char *allowed(const key *k) {
    switch (k->kind) {
    case COUNT_32:
        return "a whole number";
    case COUNT_64:
        return "a whole number (k, m or g may follow)";
    case BYTES_32:
    case BYTES_64:
        return "a number of bytes (k, m or g may follow)";
    case ALIGN_32:
        return "a power of two up to 64k";
    case SUBGROUP:
        return "a power of two, or none";
    case ABSENT:
        return "0 or 1";
    case WORD:
        break;
    }
    return k->words;
}

/* The enumerations are of the type int where they are stored. */
static_assert(sizeof(am_shape) == sizeof(int) && sizeof(am_skeleton) == sizeof(int) &&
                  sizeof(am_reduce) == sizeof(int) && sizeof(am_level) == sizeof(int),
              "words are written through one size");

static bool set_value(const key *k, const char *text, size_t length, am_pretend *out) {
    char *field = (char *)out + k->offset;
    uint64_t number = 0;
    uint32_t number32;
    const bool wide = k->kind == BYTES_64 || k->kind == COUNT_64;
    const uint64_t most = wide ? UINT64_MAX : k->kind == ALIGN_32 ? MOST_ALIGN : UINT32_MAX;
    int word;
    if (k->kind == SUBGROUP && length == 4 && memcmp(text, "none", 4) == 0) {
        out->no_subgroups = true;
        return true;
    }
    if (k->kind == WORD) {
        word = find_word(k->words, text, length);
        memcpy(field, &word, sizeof word);
        return word != 0;
    }
    if (!parse_number(text, length, wide || k->kind == BYTES_32 || k->kind == ALIGN_32, most,
                      &number))
        return false;
    if (k->kind == ABSENT) {
        const bool absent = number == 0;
        memcpy(field, &absent, sizeof absent);
        return number <= 1;
    }
    if ((k->kind == ALIGN_32 || k->kind == SUBGROUP) && (number & (number - 1)) != 0) return false;
    number32 = (uint32_t)number;
    if (wide)
        memcpy(field, &number, sizeof number);
    else
        memcpy(field, &number32, sizeof number32);
    return true;
}

static const key *find_key(const char *name, size_t length) {
    size_t i;
    for (i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strlen(keys[i].name) == length && memcmp(keys[i].name, name, length) == 0)
            return &keys[i];
    return NULL;
}

anymax_status am_pretend_parse(const char *text, am_pretend *out) {
    memset(out, 0, sizeof *out);
    while (text && *text) {
        size_t length = strcspn(text, ",");
        const char *equals = memchr(text, '=', length);
        const key *k = find_key(text, equals ? (size_t)(equals - text) : length);
        int shown = length < 100 ? (int)length : 100;
        if (!k)
            return am_fail(ANYMAX_ERROR_INVALID,
                           "pretend: there is no key in \"%.*s\"; keys are groups, invocations, "
                           "shared, subgroup, range, buffers, align, alloc, storage16, mapped, "
                           "trips, memory, work, shape, skeleton, reduce, level, part, oom, "
                           "compile, submit, wait, lost, times",
                           shown, text);
        if (!equals || !set_value(k, equals + 1, length - (size_t)(equals - text) - 1, out))
            return am_fail(ANYMAX_ERROR_INVALID, "pretend: \"%.*s\" does not fit; %s is %s", shown,
                           text, k->name, allowed(k));
        text += length + (text[length] == ',');
    }
    return ANYMAX_OK;
}
