/* A tensor under test: its memory lies between canaries, outputs are poisoned, and afterwards every
 * byte that is not an addressed element of an output must be what it was. */
#ifndef SUPPORT_PROBE_H
#define SUPPORT_PROBE_H

#include <anymax/anymax.h>

typedef enum layout {
    LAYOUT_PACKED,
    LAYOUT_ODD,      /* packed, from an odd element on: offsets that suit no alignment */
    LAYOUT_ROWGAP,   /* rows apart in a wider buffer */
    LAYOUT_GAPS,     /* every axis has gaps, also the last */
    LAYOUT_PERMUTED, /* the first axis is the fastest in memory */
    LAYOUT_REPEAT,   /* inputs: stride 0 along the first axis; the caller repeats the values */
    LAYOUT_COUNT
} layout;

typedef struct probe {
    char name[24];
    anymax_tensor tensor;
    anymax_buffer *buffer; /* NULL: host memory, or shared */
    unsigned char *image;  /* what the memory holds before the call; on the host, also during it */
    unsigned char *after;
    size_t image_bytes, count;
    double *value; /* inputs: the exact values; outputs: what the library wrote */
    double *first; /* outputs: what was there before, or NULL where that was poison */
    bool output;
    struct probe *shared; /* the memory belongs to that one */
} probe;

size_t shape_count(uint32_t rank, const int64_t *shape);

/* An input of these values, rounded to the type first (p->value says what they became). */
void probe_input(probe *p, const char *name, anymax_dtype dtype, uint32_t rank,
                 const int64_t *shape, layout layout, const double *values);
/* An output, poisoned, or holding `first` (rounded) where it is to be added to. */
void probe_output(probe *p, const char *name, anymax_dtype dtype, uint32_t rank,
                  const int64_t *shape, layout layout, const double *first);
/* Makes the memory on the device (or leaves it on the host) and fills it. */
anymax_status probe_place(probe *p, anymax_stream *stream, bool host);
/* Makes the output `p` the very memory of the input `other` (placed, and of the same type and
 * layout): a call in place. Both count as outputs from then on. */
void probe_share(probe *p, probe *other);
/* Queues reading the memory back; the stream must be synced before the checks. */
anymax_status probe_fetch(probe *p, anymax_stream *stream);
/* Decodes outputs into p->value. False, with a sentence, if a byte changed that must not. `touched`
 * false: not even elements of outputs may have changed. */
bool probe_intact(probe *p, bool touched, char *text, size_t size);
void probe_free(probe *p);

#endif
