/* Golden files: inputs, parameters, results and gradients of each operation in double precision.
 *
 * A file holds tensors CASE/in.NAME, CASE/out.NAME, CASE/up.NAME and CASE/grad.NAME; its metadata
 * gives each case's parameters as JSON. Cases named *.narrow have inputs exact in f16 and bf16. */
#ifndef SUPPORT_GOLDEN_H
#define SUPPORT_GOLDEN_H

#include <array.h>
#include <safetensors.h>

#include <stdbool.h>

#define GOLDEN_TENSORS 24

typedef struct golden_tensor {
    const char *name; /* "in.x" */
    const io_entry *entry;
    double *value;
    size_t count;
} golden_tensor;

typedef struct golden_case {
    const char *name, *params; /* params: JSON */
    golden_tensor tensors[GOLDEN_TENSORS];
    int count;
} golden_case;

/* Opens the file of `op`; false, with a sentence, if it is absent or broken. */
bool golden_open(io_safetensors *file, const char *op, char *text, size_t size);
/* Case `index`; false past the last. Free it afterwards. */
bool golden_load(io_safetensors *file, size_t index, golden_case *c);
void golden_free(golden_case *c);
const golden_tensor *golden_find(const golden_case *c, const char *name);
bool golden_is_narrow(const golden_case *c);

#endif
