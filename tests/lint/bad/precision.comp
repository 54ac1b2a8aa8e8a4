/* breaks: precision. The driver may take 16 bits.
 * y = x summed over a group. A group takes a row; reads 4 bytes an element; shared memory: 4 T bytes;
 * registers of an item: 8. */
#version 450
layout(local_size_x_id = 0) in;
layout(std140, set = 0, binding = 0) uniform args_block { int n, rows; } args;
layout(set = 0, binding = 1) buffer words_block { float v[]; } words;
layout(constant_id = 1) const bool WIDE = true;
shared float tile[256];
void main() {
    mediump float v = words.v[0];
    words.v[1] = v;
}
