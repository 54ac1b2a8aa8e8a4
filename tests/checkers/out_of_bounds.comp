#version 450
/* Writes the word that the buffer names in its first one: the host says how far away that is. */
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer words_block { uint words[]; };

void main() {
    words[words[0]] = 7u;
}
