/* The inside of a plan, shared by plan.c (building), plan_reverse.c (backward) and plan_run.c. */
#ifndef AM_PLAN_INTERNAL_H
#define AM_PLAN_INTERNAL_H

#include "plan.h"

#define AM_MAX_BASES 64
#define AM_MAX_VIEWS 160
#define AM_MAX_STEPS 32
#define AM_MAX_ACTIONS 128

typedef enum am_base_kind {
    AM_BASE_CALLER,  /* a tensor of the caller */
    AM_BASE_VIRTUAL, /* an output that nobody holds */
    AM_BASE_SCRATCH  /* a part of the workspace */
} am_base_kind;

/* Something that has memory; views look at it. */
typedef struct am_base {
    am_base_kind kind;
    const char *name;
    bool output;     /* of this run */
    bool have;       /* holds its value without a step */
    bool accumulate; /* gradient targets: add to what is there */
    bool staged;     /* host memory that the device cannot see: copied through scratch */
    am_value full;   /* the view of all of it */
    size_t scratch_offset, scratch_bytes;
    /* backward */
    int gradient; /* base that holds or receives the gradient, -1 none */
    int copy_to;  /* scratch that stands for a caller's gradient: copied there at the end; -1 */
    bool wants, live, needed, written;
    bool told;         /* its value goes to the caller, or into one that does */
    bool late;         /* which a backward half writes */
    int uses;          /* slots of steps through which gradients come */
    am_checked caller; /* AM_BASE_CALLER; the last, as it is not cleared for the others */
} am_base;

typedef struct am_view {
    int base;
    uint32_t rank;
    int64_t shape[ANYMAX_MAX_RANK];
    int64_t stride[ANYMAX_MAX_RANK]; /* elements */
    int64_t offset;
    bool full; /* every element of the base, once */
    /* which dimension of the base each one is, and where it starts: the same view of another base
     */
    uint32_t dim[ANYMAX_MAX_RANK];
    int64_t start[ANYMAX_MAX_RANK];
    bool flat;
} am_view;

typedef struct am_step {
    bool product;
    am_row_step row;
    float alpha;
} am_step;

typedef enum am_action_kind { AM_DO_ROW, AM_DO_PRODUCT, AM_DO_ZERO } am_action_kind;

typedef struct am_action {
    am_action_kind kind;
    int program;
    uint32_t rank; /* of the rows and their columns */
    int64_t shape[ANYMAX_MAX_RANK];
    uint32_t axis;
    am_value value[AM_SLOTS]; /* products: 0 a, 1 b, 2 c; zero: 0 */
    float param[AM_MAX_PARAMS];
    int32_t iparam[AM_MAX_INTS];
    uint32_t accumulate;
    int32_t iterations;
    float alpha;
} am_action;

struct am_plan {
    anymax_stream *stream;
    const char *op;
    anymax_status status;
    char message[512]; /* of the first failure */
    bool in_place, empty;
    int bases, views, steps, actions;
    size_t scratch_bytes;
    am_base base[AM_MAX_BASES];
    am_view view[AM_MAX_VIEWS];
    am_step step[AM_MAX_STEPS];
    am_action action[AM_MAX_ACTIONS];
};

int am_plan_new_base(am_plan *plan, am_base_kind kind, const char *name, uint32_t rank,
                     const int64_t *shape);
/* Gives a base room in the workspace. */
void am_plan_give_scratch(am_plan *plan, int base);
/* The view of `base` that `value` is of its own base. */
am_value am_plan_same_view(am_plan *plan, am_value value, int base);
am_action *am_plan_act(am_plan *plan, am_action_kind kind);
/* The forward half of a step; outputs that nobody holds are left out. */
void am_plan_act_forward(am_plan *plan, const am_step *step);
/* Slot of the program with this name, or -1. */
int am_program_slot(int program, const char *name);
/* Strides of a view against a wider shape; false if it does not broadcast. */
bool am_view_strides(const am_view *view, uint32_t rank, const int64_t *shape, bool exact,
                     int64_t *stride);
/* Refuses outputs that overlap inputs or one another. */
void am_plan_check_overlap(am_plan *plan, bool backward);
anymax_status am_plan_run(am_plan *plan);

#endif
