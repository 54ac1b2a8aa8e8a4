/* breaks: trip-count. The count is set under a condition of the item.
 * y = x summed over a group. A group takes a row; reads 4 bytes an element; local memory: 4 T bytes;
 * registers of an item: 8. */
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void sum(const int n, __global float *x) {

    __local float tile[64];
    int turns = 4;
    if (x[get_local_id(0)] > 0.0f) turns = 5;
    do {
        barrier(CLK_LOCAL_MEM_FENCE);
        turns--;
    } while (turns > 0);
}
