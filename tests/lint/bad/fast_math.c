/* breaks: fast-math. An option that gives up NaN. */
const char *options(void) {
    return "-cl-std=CL1.2 -cl-finite-math-only";
}
