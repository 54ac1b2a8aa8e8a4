/* Copy (to = from) and read of a Vulkan device, and a kernel that does nothing.
 *
 * A group takes 64 KiB. On processors it is one sub-group that walks along them; the copy takes an
 * element at a time, as a row's kernel may have to. Elsewhere an item of the copy takes a vec4, in 16
 * groups of 256, and one of the read takes 16 of them.
 * Computes nothing, or a sum that keeps reads from being left out. Moves each byte once: the copy reads
 * and writes it. No shared memory. Registers: an index and one vec4. */
#version 450
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint KIND = 0; /* as anchor_kind; 2: nothing */
layout(constant_id = 2) const bool PROCESSOR = false;

layout(binding = 0) writeonly buffer To4 { vec4 to4[]; };
layout(binding = 0) writeonly buffer To { float to[]; };
layout(binding = 1) readonly buffer From4 { vec4 from4[]; };
layout(binding = 1) readonly buffer From { float from[]; };

const uint ROW = 16384; /* elements of 64 KiB */

void long_row() {
    uint width = gl_WorkGroupSize.x, lane = gl_LocalInvocationID.x;
    uint i = gl_WorkGroupID.y * ROW + lane, end = (gl_WorkGroupID.y + 1) * ROW;
    vec4 sum = vec4(0.0);
    if (KIND == 0) {
        for (; i < end; i += width) to[i] = from[i];
        return;
    }
    /* Here a vec4 is faster, and a turn of a loop costs as much as a load. */
    for (i = gl_WorkGroupID.y * ROW / 4 + lane; i < end / 4; i += 4 * width)
        sum += (from4[i] + from4[i + width]) + (from4[i + 2 * width] + from4[i + 3 * width]);
    to[gl_WorkGroupID.y * width + lane] = sum.x + sum.y + sum.z + sum.w;
}

void wide() {
    uint lane = gl_LocalInvocationID.x, k;
    uint i = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * gl_WorkGroupSize.x + lane;
    vec4 sum = vec4(0.0);
    if (KIND == 0) {
        to4[i] = from4[i];
        return;
    }
    for (k = 0; k < 16; k++) sum += from4[gl_WorkGroupID.y * ROW / 4 + k * gl_WorkGroupSize.x + lane];
    to[i] = sum.x + sum.y + sum.z + sum.w;
}

void main() {
    if (KIND == 2) return;
    if (PROCESSOR)
        long_row();
    else
        wide();
}
