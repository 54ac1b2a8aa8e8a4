/* breaks: float-atomic. A float added by comparing and exchanging.
 * y = x summed over a group. A group takes a row; reads 4 bytes an element; local memory: 4 T bytes;
 * registers of an item: 8. */
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void sum(const int n, __global float *x) {

    __global volatile int *at = (__global volatile int *)x;
    int old = at[0];
    atomic_cmpxchg(at, old, as_int(as_float(old) + 1.0f));
}
