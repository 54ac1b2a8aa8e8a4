/* The backward plan: the steps in reverse, each with its program's other half. Outputs that are
 * given to it are told too, by the backward halves where those can. */
#include <string.h>

#include "error.h"
#include "plan_internal.h"

static bool single(const am_view *view) {
    for (uint32_t i = 0; i < view->rank; i++)
        if (view->shape[i] != 1) return false;
    return true;
}

void am_plan_upstream(am_plan *plan, am_value output, const char *name,
                      const anymax_tensor *tensor) {
    am_value up = am_plan_input(plan, name, tensor, 1u << 0);
    const am_view *u, *o;
    char has[160], wants[160];
    if (up < 0 || output < 0) return;
    u = &plan->view[up];
    o = &plan->view[output];
    if (!am_shape_equal(u->rank, u->shape, o->rank, o->shape) &&
        !(plan->base[u->base].caller.count == 1 && single(o))) {
        am_plan_fail(plan,
                     am_fail(ANYMAX_ERROR_INVALID, "%s: %s has shape %s; %s is needed", plan->op,
                             name, am_shape_text(u->rank, u->shape, has, sizeof has),
                             am_shape_text(o->rank, o->shape, wants, sizeof wants)));
        return;
    }
    plan->base[o->base].gradient = u->base;
    plan->base[o->base].live = true;
}

/* Whether a caller's gradient exactly covers something that a later step still reads. */
static bool covers_input(const am_plan *plan, int base) {
    for (int i = 0; i < plan->bases; i++)
        if (i != base && plan->base[i].kind == AM_BASE_CALLER && !plan->base[i].output &&
            am_tensor_overlap(&plan->base[i].caller, &plan->base[base].caller))
            return true;
    return false;
}

void am_plan_gradient(am_plan *plan, am_value input, const char *name, const anymax_tensor *tensor,
                      bool accumulate) {
    am_value target = am_plan_output(plan, name, tensor);
    const am_view *t, *v;
    char has[160], wants[160];
    if (target < 0) return;
    if (input < 0) {
        am_plan_fail(plan,
                     am_fail(ANYMAX_ERROR_INVALID, "%s: %s is asked for, but its input is missing",
                             plan->op, name));
        return;
    }
    t = &plan->view[target];
    v = &plan->view[input];
    if (!am_shape_equal(t->rank, t->shape, v->rank, v->shape)) {
        am_plan_fail(plan,
                     am_fail(ANYMAX_ERROR_INVALID, "%s: %s has shape %s; %s is needed", plan->op,
                             name, am_shape_text(t->rank, t->shape, has, sizeof has),
                             am_shape_text(v->rank, v->shape, wants, sizeof wants)));
        return;
    }
    plan->base[t->base].accumulate = accumulate;
    plan->base[v->base].gradient = t->base;
    plan->base[v->base].wants = true;
}

/* ---------------------------------------------------------------- what is needed */

static bool starts(const char *name, const char *with) {
    return name && strncmp(name, with, strlen(with)) == 0;
}

/* Slot of the backward half that receives the gradient of forward slot `s` ("grad_x") or brings the
 * one of an output ("up_y"); -1. */
static int backward_slot(int family, int s, const char *prefix) {
    const am_program *forward = &am_program_table[2 * family];
    const am_program *backward = &am_program_table[2 * family + 1];
    if (!forward->slot[s].name) return -1;
    for (int b = 0; b < AM_SLOTS; b++)
        if (starts(backward->slot[b].name, prefix) &&
            strcmp(backward->slot[b].name + strlen(prefix), forward->slot[s].name) == 0)
            return b;
    return -1;
}

static bool is_result(int program, int s) {
    am_slot_role role = am_program_table[program].slot[s].role;
    return role == AM_ROLE_OUT || role == AM_ROLE_ROW_OUT;
}

static bool is_input(const am_step *step, int s) {
    am_slot_role role;
    if (step->product) return s < 2;
    role = am_program_table[2 * step->row.family].slot[s].role;
    return role == AM_ROLE_IN || role == AM_ROLE_PARAM || role == AM_ROLE_INDEX;
}

/* Whether a gradient comes from slot s of this step (an output) or goes to it (an input). */
static bool passes(const am_step *step, int s) {
    if (step->row.value[s] < 0) return false;
    if (step->product) return true;
    return backward_slot(step->row.family, s, is_input(step, s) ? "grad_" : "up_") >= 0;
}

static am_base *base_of(am_plan *plan, const am_step *step, int s) {
    return &plan->base[plan->view[step->row.value[s]].base];
}

static bool wants_input(am_plan *plan, const am_step *step) {
    for (int s = 0; s < AM_SLOTS; s++)
        if (passes(step, s) && is_input(step, s) && base_of(plan, step, s)->wants) return true;
    return false;
}

static bool live_output(am_plan *plan, const am_step *step) {
    for (int s = 0; s < AM_SLOTS; s++)
        if (passes(step, s) && !is_input(step, s) && base_of(plan, step, s)->live) return true;
    return false;
}

static bool works(am_plan *plan, const am_step *step) {
    return wants_input(plan, step) && live_output(plan, step);
}

/* What the forward half has in slot s, as a slot of the backward half; -1. */
static int same_slot(const am_step *step, int s) {
    int forward = 2 * step->row.family;
    return am_program_slot(forward + 1, am_program_table[forward].slot[s].name);
}

/* Whether the backward half reads what slot s of the forward half holds, or writes it. */
static bool reads(const am_step *step, int s) {
    int b = same_slot(step, s);
    return b >= 0 && !is_result(2 * step->row.family + 1, b);
}

static bool writes(const am_step *step, int s) {
    int b = same_slot(step, s);
    return b >= 0 && is_result(2 * step->row.family + 1, b);
}

/* Whether a step has to run forward, as a backward half reads what it makes. */
static bool reruns(am_plan *plan, const am_step *step) {
    for (int s = 0; s < AM_SLOTS; s++)
        if (step->row.value[s] >= 0 && !is_input(step, s) && base_of(plan, step, s)->needed &&
            !base_of(plan, step, s)->have)
            return true;
    return false;
}

/* Marks which bases want gradients, which get one, and which values the backward halves read. */
static void mark(am_plan *plan) {
    for (int i = 0; i < plan->steps; i++)
        for (int s = 0; s < AM_SLOTS; s++)
            if (passes(&plan->step[i], s) && !is_input(&plan->step[i], s) &&
                wants_input(plan, &plan->step[i]))
                base_of(plan, &plan->step[i], s)->wants = true;
    for (int i = plan->steps; i-- > 0;) {
        const am_step *step = &plan->step[i];
        if (!works(plan, step)) continue;
        for (int s = 0; s < AM_SLOTS; s++) {
            if (step->row.value[s] < 0) continue;
            if (is_input(step, s) && passes(step, s) && base_of(plan, step, s)->wants) {
                base_of(plan, step, s)->live = true;
                base_of(plan, step, s)->uses++;
            }
            /* A value that the backward half reads is needed; of a product, the other operand. */
            if (step->product ? s < 2 && base_of(plan, step, 1 - s)->wants : reads(step, s))
                base_of(plan, step, s)->needed = true;
        }
    }
    for (int i = plan->steps; i-- > 0;) {
        const am_step *step = &plan->step[i];
        bool run = reruns(plan, step);
        for (int s = 0; s < AM_SLOTS && run; s++)
            if (step->row.value[s] >= 0 && is_input(step, s)) base_of(plan, step, s)->needed = true;
    }
}

/* ---------------------------------------------------------------- values beside gradients */

static bool tells(am_plan *plan, const am_step *step) {
    for (int s = 0; s < AM_SLOTS; s++)
        if (step->row.value[s] >= 0 && !is_input(step, s) && base_of(plan, step, s)->told)
            return true;
    return false;
}

/* Whether the backward half of a step writes the values that are to be told of it. */
static bool told_in_reverse(am_plan *plan, const am_step *step) {
    if (step->product || !works(plan, step)) return false;
    for (int s = 0; s < AM_SLOTS; s++)
        if (step->row.value[s] >= 0 && !is_input(step, s) && base_of(plan, step, s)->told &&
            !writes(step, s))
            return false;
    return true;
}

/* Gives a value that nobody holds a place. */
static void hold(am_plan *plan, int base) {
    am_base *b = &plan->base[base];
    if (b->kind != AM_BASE_VIRTUAL) return;
    b->kind = AM_BASE_SCRATCH;
    b->output = false;
    am_plan_give_scratch(plan, base);
}

/* Marks the outputs that the caller has given, and what they are made of. */
static void mark_told(am_plan *plan) {
    for (int i = 0; i < plan->bases; i++) {
        am_base *b = &plan->base[i];
        if (b->kind == AM_BASE_CALLER && b->output) b->told = true;
    }
    for (int i = plan->steps; i-- > 0;) {
        const am_step *step = &plan->step[i];
        if (!tells(plan, step) || told_in_reverse(plan, step)) continue;
        for (int s = 0; s < AM_SLOTS; s++) {
            if (step->row.value[s] < 0 || !is_input(step, s)) continue;
            base_of(plan, step, s)->told = true;
            hold(plan, plan->view[step->row.value[s]].base);
        }
    }
    for (int i = 0; i < plan->steps; i++) {
        const am_step *step = &plan->step[i];
        bool late = tells(plan, step) && told_in_reverse(plan, step);
        for (int s = 0; s < AM_SLOTS; s++)
            if (step->row.value[s] >= 0 && is_input(step, s)) late |= base_of(plan, step, s)->late;
        for (int s = 0; s < AM_SLOTS; s++)
            if (step->row.value[s] >= 0 && !is_input(step, s)) base_of(plan, step, s)->late = late;
    }
}

/* Runs forward what tells values and neither has run nor will be done by a backward half: before
 * the gradients, which may cover inputs, or after them. */
static void tell(am_plan *plan, bool late) {
    for (int i = 0; i < plan->steps; i++) {
        const am_step *step = &plan->step[i];
        bool is_late = false;
        if (!tells(plan, step) || told_in_reverse(plan, step) || reruns(plan, step)) continue;
        for (int s = 0; s < AM_SLOTS; s++)
            if (step->row.value[s] >= 0 && !is_input(step, s))
                is_late = base_of(plan, step, s)->late; /* the same for all of them */
        if (is_late == late) am_plan_act_forward(plan, step);
    }
}

/* The forward steps whose results are read. */
static void recompute(am_plan *plan) {
    for (int i = 0; i < plan->bases; i++)
        if (plan->base[i].needed) hold(plan, i);
    for (int i = 0; i < plan->steps; i++)
        if (reruns(plan, &plan->step[i])) am_plan_act_forward(plan, &plan->step[i]);
}

/* ---------------------------------------------------------------- reverse */

/* Where the gradient of a value goes, made on first use. *accumulate tells whether to add. */
static am_value target_of(am_plan *plan, am_value value, bool *accumulate) {
    int of = plan->view[value].base;
    am_base *b = &plan->base[of];
    if (b->gradient < 0) {
        const am_view *full = &plan->view[b->full];
        int made = am_plan_new_base(plan, AM_BASE_SCRATCH, "gradient", full->rank, full->shape);
        if (made < 0) return AM_NO_VALUE;
        plan->base[made].scratch_bytes = 4;
        for (uint32_t i = 0; i < full->rank; i++)
            plan->base[made].scratch_bytes *= (size_t)full->shape[i];
        am_plan_give_scratch(plan, made);
        plan->base[of].gradient = made;
    } else if (plan->base[b->gradient].kind == AM_BASE_CALLER && !b->written) {
        const am_base *g = &plan->base[b->gradient];
        /* Several contributions would each be rounded to a narrow type; and a gradient that covers
         * an input must wait until the last step has read it. */
        bool narrow = g->caller.tensor.dtype != ANYMAX_F32 && b->uses > 1;
        if (narrow || (!plan->in_place && covers_input(plan, b->gradient))) {
            int caller = b->gradient;
            plan->base[of].gradient = -1;
            target_of(plan, value, accumulate);
            if (!am_plan_ok(plan)) return AM_NO_VALUE;
            plan->base[plan->base[of].gradient].copy_to = caller;
            plan->base[of].written = false;
        }
    }
    b = &plan->base[of];
    if (!b->written && !plan->view[value].full) {
        am_plan_act(plan, AM_DO_ZERO)->value[0] = plan->base[b->gradient].full;
        b->written = true;
    }
    *accumulate = b->written || (plan->base[b->gradient].kind == AM_BASE_CALLER &&
                                 plan->base[b->gradient].accumulate);
    b->written = true;
    return am_plan_same_view(plan, value, b->gradient);
}

static void reverse_row(am_plan *plan, const am_step *step) {
    const am_program *backward = &am_program_table[2 * step->row.family + 1];
    am_value value[AM_SLOTS];
    uint32_t adds = 0;
    am_action *action;
    for (int b = 0; b < AM_SLOTS; b++) {
        const char *name = backward->slot[b].name;
        bool up = starts(name, "up_"), grad = starts(name, "grad_");
        int s;
        value[b] = AM_NO_VALUE;
        if (backward->slot[b].role == AM_ROLE_NONE || backward->slot[b].role == AM_ROLE_WORKSPACE)
            continue;
        s = am_program_slot(2 * step->row.family, name + (up ? 3 : grad ? 5 : 0));
        if (s < 0 || step->row.value[s] < 0) continue;
        if (grad) {
            bool accumulate = false;
            if (!base_of(plan, step, s)->wants) continue;
            value[b] = target_of(plan, step->row.value[s], &accumulate);
            if (accumulate) adds |= 1u << b;
        } else if (up) {
            if (base_of(plan, step, s)->live)
                value[b] =
                    am_plan_same_view(plan, step->row.value[s], base_of(plan, step, s)->gradient);
        } else if (!is_result(2 * step->row.family + 1, b) ||
                   (base_of(plan, step, s)->told && !reruns(plan, step))) {
            value[b] = step->row.value[s];
        }
    }
    am_plan_act_forward(plan, step);
    if (!am_plan_ok(plan)) return;
    action = &plan->action[plan->actions - 1];
    action->program = 2 * step->row.family + 1;
    action->accumulate = adds;
    action->iterations = 0;
    memcpy(action->value, value, sizeof value);
}

static void reverse_product(am_plan *plan, const am_step *step) {
    am_value c = am_plan_same_view(plan, step->row.value[2], base_of(plan, step, 2)->gradient);
    for (int s = 0; s < 2; s++) {
        bool accumulate = false;
        am_value other, target;
        am_action *action;
        if (!base_of(plan, step, s)->wants) continue;
        other = am_plan_transpose(plan, step->row.value[1 - s], 0, 1);
        target = target_of(plan, step->row.value[s], &accumulate);
        action = am_plan_act(plan, AM_DO_PRODUCT);
        action->alpha = step->alpha;
        action->accumulate = accumulate ? 1u << 2 : 0;
        action->value[0] = s == 0 ? c : other; /* grad_a = c b^T, grad_b = a^T c */
        action->value[1] = s == 0 ? other : c;
        action->value[2] = target;
    }
}

/* y = x (x absent: 0), added to or not. */
static void act_copy(am_plan *plan, am_value x, am_value y, bool accumulate) {
    const am_view *v;
    am_action *action = am_plan_act(plan, AM_DO_ROW);
    int program = 2 * AM_FAMILY(scale);
    if (!am_plan_ok(plan)) return;
    v = &plan->view[y];
    action->program = program;
    action->rank = v->rank;
    memcpy(action->shape, v->shape, sizeof action->shape);
    action->axis = v->rank ? v->rank - 1 : 0;
    action->param[0] = 1.0f;
    action->value[am_program_slot(program, "x")] = x;
    action->value[am_program_slot(program, "y")] = y;
    if (accumulate) action->accumulate = 1u << am_program_slot(program, "y");
}

anymax_status am_plan_backward(am_plan *plan) {
    int bases;
    if (am_plan_ok(plan)) am_plan_check_overlap(plan, true);
    if (am_plan_ok(plan)) mark(plan);
    if (am_plan_ok(plan)) mark_told(plan);
    if (am_plan_ok(plan)) recompute(plan);
    if (am_plan_ok(plan)) tell(plan, false);
    for (int i = plan->steps; i-- > 0 && am_plan_ok(plan);) {
        if (!works(plan, &plan->step[i])) continue;
        if (plan->step[i].product)
            reverse_product(plan, &plan->step[i]);
        else
            reverse_row(plan, &plan->step[i]);
    }
    if (am_plan_ok(plan)) tell(plan, true);
    bases = plan->bases;
    for (int i = 0; i < bases && am_plan_ok(plan); i++) {
        const am_base *b = &plan->base[i];
        if (b->kind == AM_BASE_SCRATCH && b->copy_to >= 0)
            act_copy(plan, b->full, plan->base[b->copy_to].full, plan->base[b->copy_to].accumulate);
        /* A gradient that nothing reaches is zero. */
        if (b->wants && !b->written && b->gradient >= 0 && plan->base[b->gradient].output &&
            plan->base[b->gradient].kind == AM_BASE_CALLER && plan->base[b->gradient].output &&
            !plan->base[b->gradient].accumulate)
            act_copy(plan, AM_NO_VALUE, plan->base[b->gradient].full, false);
    }
    return am_plan_run(plan);
}
