/* breaks: float-atomic. A place from a counter: another order on the next run.
 * y = x summed over a group. A group takes a row; reads 4 bytes an element; shared memory: 4 T bytes;
 * registers of an item: 8. */
#version 450
layout(local_size_x_id = 0) in;
layout(std140, set = 0, binding = 0) uniform args_block { int n, rows; } args;
layout(set = 0, binding = 1) buffer words_block { float v[]; } words;
layout(constant_id = 1) const bool WIDE = true;
shared float tile[256];
layout(set = 0, binding = 2) buffer count_block { uint count[]; };

void main() {
    const uint place = atomicAdd(count[0], 1u);
    words.v[place] = 1.0;
}
