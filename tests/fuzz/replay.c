/* replay.c: gives files to a fuzz target where there is no libFuzzer: FILE... or @LIST, a file with
 * the name of one in each line. */
#include "fuzz.h"

static bool run_file(const char *path) {
    FILE *file = fopen(path, "rb");
    long size = -1;
    uint8_t *data = NULL;
    bool good;
    printf("%s\n", path);
    fflush(stdout); /* the last name is the one that ended the process */
    if (file && fseek(file, 0, SEEK_END) == 0) size = ftell(file);
    /* Of just that size, so that a checker sees reads behind the end. */
    if (size >= 0) data = malloc(size ? (size_t)size : 1);
    good =
        data && fseek(file, 0, SEEK_SET) == 0 && fread(data, 1, (size_t)size, file) == (size_t)size;
    if (file) fclose(file);
    if (good) LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
    if (!good) fprintf(stderr, "%s cannot be read\n", path);
    return good;
}

static bool run_list(const char *path, int *count) {
    char line[4096];
    bool good = true;
    FILE *list = fopen(path, "r");
    if (!list) {
        fprintf(stderr, "%s cannot be read\n", path);
        return false;
    }
    while (fgets(line, sizeof line, list)) {
        line[strcspn(line, "\r\n")] = 0;
        if (!*line) continue;
        good = run_file(line) && good;
        ++*count;
    }
    fclose(list);
    return good;
}

int main(int argc, char **argv) {
    int count = 0, i;
    bool good = true;
    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    for (i = 1; i < argc; i++) {
        if (argv[i][0] == '@') {
            good = run_list(argv[i] + 1, &count) && good;
        } else {
            good = run_file(argv[i]) && good;
            count++;
        }
    }
    printf("%d inputs\n", count);
    return good && count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
