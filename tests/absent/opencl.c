/* Writes what the OpenCL backend would give to a GPU's compiler: absent_opencl FOLDER.
 *
 * The backend builds every kernel in every variant for GPUs, through a driver that only takes
 * notes: FOLDER gets NUMBER.cl and NUMBER.options for each, and FOLDER/list the lines "NUMBER
 * kernel variant", separated by tabs. */
#include "opencl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    const char *folder;
    char kernel[96];
    int number;
    bool failed;
} now;

static void write_file(const char *end, const char *text) {
    char path[512];
    FILE *file;
    snprintf(path, sizeof path, "%s/%d.%s", now.folder, now.number, end);
    file = fopen(path, "w");
    if (!file || fputs(text, file) == EOF) now.failed = true;
    if (file && fclose(file) != 0) now.failed = true;
}

/* ---- the driver that takes notes; objects are addresses of nothing in particular */

static int anything;

static cl_program CL_API_CALL create_program(cl_context context, cl_uint count,
                                             const char **sources, const size_t *sizes,
                                             cl_int *code) {
    (void)context, (void)count, (void)sizes;
    now.number++;
    write_file("cl", sources[0]);
    *code = CL_SUCCESS;
    return (cl_program)(void *)&anything;
}

static cl_int CL_API_CALL build_program(cl_program program, cl_uint count,
                                        const cl_device_id *devices, const char *options,
                                        void(CL_CALLBACK *done)(cl_program, void *), void *user) {
    (void)program, (void)count, (void)devices, (void)done, (void)user;
    write_file("options", options);
    return CL_SUCCESS;
}

static cl_kernel CL_API_CALL create_kernel(cl_program program, const char *name, cl_int *code) {
    (void)program;
    snprintf(now.kernel, sizeof now.kernel, "%s", name);
    *code = CL_SUCCESS;
    return (cl_kernel)(void *)&anything;
}

static cl_int CL_API_CALL kernel_info(cl_kernel kernel, cl_device_id device,
                                      cl_kernel_work_group_info what, size_t size, void *value,
                                      size_t *out_size) {
    (void)kernel, (void)device, (void)out_size;
    memset(value, 0, size);
    if (what == CL_KERNEL_WORK_GROUP_SIZE) memcpy(value, &(size_t){1024}, sizeof(size_t));
    return CL_SUCCESS;
}

static cl_int CL_API_CALL release_program(cl_program program) {
    (void)program;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL release_kernel(cl_kernel kernel) {
    (void)kernel;
    return CL_SUCCESS;
}

static const am_cl_api notes = {.clCreateProgramWithSource = create_program,
                                .clBuildProgram = build_program,
                                .clCreateKernel = create_kernel,
                                .clGetKernelWorkGroupInfo = kernel_info,
                                .clReleaseProgram = release_program,
                                .clReleaseKernel = release_kernel};

/* A GPU with the limits that all of them have at least. */
static bool open_device(am_backend_device *device) {
    memset(device, 0, sizeof *device);
    device->api = &notes;
    device->options.no_cache = true;
    device->group_items = 256;
    device->local_bytes = 32u << 10;
    return am_mutex_init(&device->lock);
}

/* Is there a launch that takes the program in this variant? */
static bool wanted(int program, am_cl_variant variant) {
    const uint32_t all[2] = {0x11111111u, 0x11111111u}, none[2] = {0, 0};
    const bool extras = variant >= AM_CL_SHORT + AM_CL_EXTRAS;
    if (program == AM_CL_PRODUCT) return variant == AM_CL_SHORT;
    if (extras && !am_has_extras(&am_program_table[program], all)) return false;
    return am_cl_chip(extras ? variant - AM_CL_EXTRAS : variant) <=
           am_chip_columns(&am_program_table[program], extras ? all : none);
}

int main(int count, char **words) {
    static const char *const names[] = {"short", "chip", "chip-long", "stream"};
    static am_backend_device device;
    static am_backend_stream stream = {.device = &device};
    char path[512];
    FILE *list;
    if (count != 2) return fprintf(stderr, "usage: absent_opencl FOLDER\n"), 2;
    now.folder = words[1];
    snprintf(path, sizeof path, "%s/list", now.folder);
    list = fopen(path, "w");
    if (!list || !open_device(&device)) return perror(path), 1;
    for (int program = 0; program <= AM_PROGRAM_COUNT; program++) {
        for (am_cl_variant v = AM_CL_SHORT; v < AM_CL_VARIANTS; v++) {
            const int form = (v - AM_CL_SHORT) % AM_CL_EXTRAS;
            const bool extras = v >= AM_CL_SHORT + AM_CL_EXTRAS;
            cl_kernel kernel;
            uint32_t items;
            if (!wanted(program, v)) continue;
            if (am_cl_kernel(&stream, program, v, &kernel, &items) == ANYMAX_OK) {
                fprintf(list, "%d\t%s\t%s%s,T%u\n", now.number, now.kernel,
                        program == AM_CL_PRODUCT ? "tiled" : names[form], extras ? "+extras" : "",
                        (unsigned)items);
            } else {
                fprintf(stderr, "absent_opencl: %s\n", anymax_error_message());
                now.failed = true;
            }
        }
    }
    am_mutex_destroy(&device.lock);
    if (fclose(list) != 0) now.failed = true;
    return now.failed;
}
