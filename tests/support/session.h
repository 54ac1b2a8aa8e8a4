/* A session: a device is opened, buffers are made and filled, an operation runs, its results are
 * read. Each step may fail, and a session can be taken up again from where it stands, as a program
 * would that goes on after an error. */
#ifndef SUPPORT_SESSION_H
#define SUPPORT_SESSION_H

#include <anymax/anymax.h>

#include <stdbool.h>

#define SESSION_TENSORS 6

typedef struct session_tensor {
    const char *name; /* "target": i32, whole numbers below 5; anything else: f32 */
    uint32_t rank;
    int64_t shape[2];
    bool output, host;
    bool gaps;  /* one element of two */
    bool holds; /* an output that is added to: it begins as numbers, not as poison */
} session_tensor;

/* One call; with `twice` it is made twice before anything is read. */
typedef struct session_program {
    const char *name, *op, *pretend;
    session_tensor tensor[SESSION_TENSORS];
    anymax_named_value param;
    bool in_place; /* the second tensor is the first one's memory, and overwrites it */
    bool twice;
    bool pieces; /* more than one submission may hold, so that an error in the middle tears it */
} session_program;

typedef enum session_step {
    SESSION_OPEN,
    SESSION_STREAM,
    SESSION_BUFFERS,
    SESSION_FILL, /* and a sync: from here on outputs hold what they are to keep, or the results */
    SESSION_CALL,
    SESSION_FETCH,
    SESSION_SYNC,
    SESSION_DONE
} session_step;

typedef struct session {
    const session_program *program;
    const char *pretend; /* of the next device that it opens */
    anymax_device *device;
    anymax_stream *stream;
    anymax_buffer *buffer[SESSION_TENSORS];
    unsigned char *memory[SESSION_TENSORS]; /* of host tensors, and where buffers are read to */
    session_step step;                      /* the next one, or the one that failed */
} session;

/* Goes on until a step fails or all is done; a session that was done begins again with FILL. */
anymax_status session_run(session *s);
/* Only the call. */
anymax_status session_call(session *s);
/* What is in the outputs' buffers, read once more. */
anymax_status session_look(session *s);

/* Copies of all outputs, one behind the other; free it. */
unsigned char *session_outputs(const session *s);
/* The name of an output that is none of what it may be, or NULL: `whole`, as in `want`, a copy of
 * good outputs; `untouched`, as before the call. Buffers count only if they have been read. */
typedef struct session_allowed {
    bool whole, untouched;
} session_allowed;
const char *session_differs(const session *s, const unsigned char *want, session_allowed allowed,
                            bool buffers);

/* Frees the host memory of tensors: what the library still writes there is then an error. */
void session_forget(session *s);
/* Releases all, or all but the device. */
void session_close(session *s);
void session_restart(session *s);

#endif
