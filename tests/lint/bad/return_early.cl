/* breaks: return-above-barrier. Surplus items leave.
 * y = x summed over a group. A group takes a row; reads 4 bytes an element; local memory: 4 T bytes;
 * registers of an item: 8. */
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void sum(const int n, __global float *x) {

    __local float tile[64];
    const int lid = (int)get_local_id(0);
    if ((int)get_global_id(0) >= n) return;
    tile[lid] = x[lid];
    barrier(CLK_LOCAL_MEM_FENCE);
    x[lid] = tile[63 - lid];
}
