/* breaks: classify. A compiler may know that there are no NaNs.
 * y = x summed over a group. A group takes a row; reads 4 bytes an element; local memory: 4 T bytes;
 * registers of an item: 8. */
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void sum(const int n, __global float *x) {

    if (isnan(x[get_global_id(0)])) x[get_global_id(0)] = 0.0f;
}
