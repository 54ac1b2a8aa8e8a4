/* breaks: jump-in-barrier-loop. Who has found something leaves the others waiting.
 * y = x summed over a group. A group takes a row; reads 4 bytes an element; local memory: 4 T bytes;
 * registers of an item: 8. */
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void sum(const int n, __global float *x) {

    __local float tile[64];
    const int lid = (int)get_local_id(0);
    for (int i = 0; i < n; i++) {
        if (x[i * 64 + lid] > 1.0f) break;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
