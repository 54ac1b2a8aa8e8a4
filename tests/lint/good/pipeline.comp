/* Branches on constants of the pipeline; loops that the arguments or the group count; a list of each item.
 * y = x summed over a group. A group takes a row; reads 4 bytes an element; shared memory: 4 T bytes;
 * registers of an item: 8. */
#version 450
layout(local_size_x_id = 0) in;
layout(std140, set = 0, binding = 0) uniform args_block { int n, rows; } args;
layout(set = 0, binding = 1) buffer words_block { float v[]; } words;
layout(constant_id = 1) const bool WIDE = true;
shared float tile[256];
layout(set = 0, binding = 2) buffer count_block { uint count[]; };
shared float list[1024];

void fill(int from, int lid) {
    tile[lid] = words.v[from + lid];
    barrier();
}

void main() {
    const int lid = int(gl_LocalInvocationID.x);
    const int first = int(gl_WorkGroupID.x) * args.n;
    int found = 0;
    float total = 0.0;
    if (WIDE) {
        for (int i = 0; i < args.n; i += 256) {
            fill(first + i, lid);
            for (int j = 0; j < 256; j++) {
                if (tile[j] > 0.0) continue;
                total += tile[j];
                list[(found & 3) * 256 + lid] = tile[j];
                found++;
            }
            barrier();
        }
    }
    for (int i = 0; i < min(found, 4); i++) total += list[i * 256 + lid];
    atomicOr(count[0], uint(found));
    atomicAdd(count[1], 1u);
    words.v[lid] = total;
}
