// breaks: head
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void sum(const int n, __global float *x) {
    x[get_global_id(0)] = (float)n;
}
