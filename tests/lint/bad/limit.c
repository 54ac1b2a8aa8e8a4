/* breaks: limit-equality. The host chooses kernels by ranges of limits. */
typedef struct limits {
    unsigned range_bytes;
} limits;

int is_large(const limits *l) {
    return l->range_bytes == 65536;
}
