/* call.h: a call by name made from bytes, and the memory that its tensors lie in. */
#ifndef ANYMAX_TESTS_FUZZ_CALL_H
#define ANYMAX_TESTS_FUZZ_CALL_H

#include <anymax/anymax.h>

#include "fuzz.h"

#define CALL_TENSORS 12
#define CALL_PARAMS 8
/* Memory of the tensors: slots, of which those from SLOT_INDICES on hold small whole numbers. */
#define SLOT_BYTES 512
#define SLOTS 16
#define SLOT_INDICES 12
#define ARENA_BYTES (SLOTS * SLOT_BYTES)

typedef struct fuzz_call {
    const char *op;
    const anymax_op_info *info; /* NULL: there is no such operation */
    anymax_named_tensor tensors[CALL_TENSORS];
    anymax_tensor tensor[CALL_TENSORS];
    size_t tensor_count;
    anymax_named_value params[CALL_PARAMS];
    size_t param_count;
    char *owned[2 * CALL_TENSORS + 2 * CALL_PARAMS + 1];
    size_t owned_count;
} fuzz_call;

typedef struct fuzz_memory {
    uint8_t *host;                   /* ARENA_BYTES; a checker knows its ends */
    anymax_buffer *buffer, *foreign; /* likewise; of the device of the call, and of another */
} fuzz_memory;

/* Everything but the memory's contents comes from the bytes. */
void fuzz_call_make(fuzz_call *call, fuzz_bytes *bytes, const fuzz_memory *memory);
void fuzz_call_free(fuzz_call *call);

/* Whether the library may touch the host memory that the tensors name: it has to believe the caller
 * there. Small enough to be run, too. */
bool fuzz_call_runs(const fuzz_call *call, const fuzz_memory *memory);
/* Whether the call writes the tensor of that name: a gradient backward, an output forward. */
bool fuzz_call_writes(const fuzz_call *call, const char *name);
/* Marks the bytes of each output's elements, in the arena on the host or in the buffer. */
void fuzz_call_mark(const fuzz_call *call, const fuzz_memory *memory, uint8_t *host,
                    uint8_t *buffer);

#endif
