/* breaks: group-size. The driver then chooses.
 * y = x summed over a group. A group takes a row; reads 4 bytes an element; local memory: 4 T bytes;
 * registers of an item: 8. */
__kernel void sum(const int n, __global float *x) {
    x[get_global_id(0)] = (float)n;
}
