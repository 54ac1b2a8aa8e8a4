/* A tree, with every barrier where it belongs.
 * y = x summed over a group. A group takes a row; reads 4 bytes an element; local memory: 4 T bytes;
 * registers of an item: 8. */
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void sum(const int n, __global float *x) {

    __local float tile[64];
    const int lid = (int)get_local_id(0);
    float total = 0.0f;
    for (int i = 0; i < n; i += 64) total += x[i + lid];
    tile[lid] = total;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_way = 32; half_way > 0; half_way >>= 1) {
        if (lid < half_way) tile[lid] = tile[lid] + tile[lid + half_way];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    total = tile[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    tile[lid] = total > -INFINITY ? total : -INFINITY;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0) x[0] = tile[63];
    if (lid > 3) return;
    x[lid] = tile[lid];
}
