/* breaks: head. It tells y = x, the group and its shared memory and registers, but no traffic. */
#version 450
layout(local_size_x = 1) in;

void main() {
}
