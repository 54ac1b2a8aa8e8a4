/* Random calls of every operation that the reference knows: shapes to rank 6, any axis, strided and
 * repeated tensors, types mixed, options, in place, accumulation, host memory. */
#include "support/cases.h"

#include <stdio.h>

static const char *const ops[] = {"softmax",       "log_softmax",  "logsumexp",
                                  "entmax15",      "entmax",       "gumbel_softmax",
                                  "cross_entropy", "infonce_loss", "logit_adjusted_softmax"};

#define CASES 16

START_TEST(random_case) {
    op_case c;
    char name[128] = "";
    int op = _i / CASES, number = _i % CASES;
    size_t used;
    op_case_random(&c, ops[op], name, (uint64_t)_i, 3000);
    used = (size_t)snprintf(name, sizeof name, "random %d, axis -%d of", number, c.axis_back + 1);
    for (uint32_t d = 0; d < c.rank && used < sizeof name; d++)
        used += (size_t)snprintf(name + used, sizeof name - used, " %lld", (long long)c.shape[d]);
    op_case_run(&test_main_device, &c, false);
    op_case_run(&test_main_device, &c, true);
}
END_TEST

static void add(Suite *suite) {
    TCase *cases = tcase_create("random");
    tcase_add_loop_test(cases, random_case, 0, COUNT(ops) * CASES);
    suite_add_tcase(suite, cases);
}

int main(int argc, char **argv) {
    return test_main(argc, argv, "random", add);
}
