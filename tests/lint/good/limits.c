/* Ranges, and the value that stands for none. */
typedef struct limits {
    unsigned range_bytes;
} limits;

int is_large(const limits *l) {
    return l->range_bytes >= 65536 || l->range_bytes == 0;
}
