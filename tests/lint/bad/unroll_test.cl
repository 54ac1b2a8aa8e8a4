/* breaks: unroll. A compiler that does not know the pragma may refuse it.
 * y = x summed over a group. A group takes a row; reads 4 bytes an element; local memory: 4 T bytes;
 * registers of an item: 8. */
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void sum(const int n, __global float *x) {

#pragma unroll
    for (int i = 0; i < 4; i++) x[get_global_id(0) * 4 + i] = 0.0f;
}
