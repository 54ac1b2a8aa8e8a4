/* breaks: shared-refill. The next turn fills what others still read.
 * y = x summed over a group. A group takes a row; reads 4 bytes an element; local memory: 4 T bytes;
 * registers of an item: 8. */
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void sum(const int n, __global float *x) {

    __local float tile[64];
    const int lid = (int)get_local_id(0);
    float total = 0.0f;
    for (int i = 0; i < n; i += 64) {
        tile[lid] = x[i + lid];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < 64; j++) total += tile[j];
    }
    x[get_global_id(0)] = total;
}
