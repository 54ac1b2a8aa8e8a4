/* breaks: infinity. Behind a cast and a sign.
 * y = x summed over a group. A group takes a row; reads 4 bytes an element; local memory: 4 T bytes;
 * registers of an item: 8. */
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void sum(const int n, __global float *x) {

    x[get_global_id(0)] = (float)(-INFINITY) * x[get_global_id(0)];
}
