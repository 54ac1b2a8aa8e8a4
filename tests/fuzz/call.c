/* call.c: bytes as calls by name on the CPU (or what ANYMAX_TEST_DEVICE says), as it is and with
 * lowered limits. Every refusal has a message and leaves all memory as it was; what runs writes
 * elements of its outputs and nothing else. */
#include "call.h"

static const char *const pretends[] = {"",
                                       "skeleton=split,part=3",
                                       "skeleton=across",
                                       "range=64,align=16",
                                       "buffers=4",
                                       "trips=1",
                                       "alloc=4096"};
#define DEVICES (sizeof pretends / sizeof pretends[0])

static struct {
    anymax_device *device[DEVICES];
    anymax_stream *stream[DEVICES], *planner[DEVICES];
    fuzz_memory memory[DEVICES];
    uint8_t *host;
    uint8_t host_was[ARENA_BYTES], buffer_was[ARENA_BYTES / 2]; /* before each call */
} all;

static void demand(anymax_status status) {
    fuzz_check(status == ANYMAX_OK, "a device is there and works", anymax_error_message());
}

/* Floats that are tame, and behind them small whole numbers for whatever reads indices. */
static void fill(uint8_t *memory, size_t size, unsigned seed) {
    size_t i;
    for (i = 0; i + 4 <= size; i += 4) {
        unsigned part = (unsigned)(i / 4 * 7 + seed) % 11;
        float f = (float)part * 0.5f - 2.0f;
        uint32_t whole = part % 4;
        memcpy(memory + i, i / SLOT_BYTES < SLOT_INDICES ? (const void *)&f : &whole, 4);
    }
}

/* As other tests do: without the device there is nothing to see, unless it has to be there. */
static void need_device(const char *selector) {
    anymax_device_desc desc = {.selector = selector};
    anymax_device *device;
    if (anymax_device_open(&desc, &device) != ANYMAX_OK && !getenv("ANYMAX_TEST_REQUIRE")) {
        fprintf(stderr, "%s\n", anymax_error_message());
        exit(77);
    }
    anymax_device_release(device);
}

static void prepare(void) {
    anymax_stream_desc plan_only = {.plan_only = true};
    const char *selector = getenv("ANYMAX_TEST_DEVICE");
    size_t i;
    if (all.host) return;
    if (selector) need_device(selector);
    all.host = malloc(ARENA_BYTES);
    if (!all.host) abort();
    fill(all.host_was, sizeof all.host_was, 0);
    fill(all.buffer_was, sizeof all.buffer_was, 5);
    for (i = 0; i < DEVICES; i++) {
        anymax_device_desc desc = {
            .selector = selector ? selector : "cpu", .threads = 1, .pretend = pretends[i]};
        demand(anymax_device_open(&desc, &all.device[i]));
        demand(anymax_stream_create(all.device[i], NULL, &all.stream[i]));
        demand(anymax_stream_create(all.device[i], &plan_only, &all.planner[i]));
        demand(anymax_buffer_create(all.device[i], ARENA_BYTES / 2, &all.memory[i].buffer));
        all.memory[i].host = all.host;
    }
    for (i = 0; i < DEVICES; i++) all.memory[i].foreign = all.memory[(i + 1) % DEVICES].buffer;
}

static void read_buffer(size_t device, uint8_t *to) {
    demand(
        anymax_buffer_read(all.stream[device], all.memory[device].buffer, 0, to, ARENA_BYTES / 2));
    demand(anymax_stream_sync(all.stream[device]));
}

/* In slots first: most of them are as they were. */
static void unchanged(const uint8_t *was, const uint8_t *is, const uint8_t *may, size_t size,
                      const char *where) {
    size_t slot, i;
    for (slot = 0; slot < size; slot += SLOT_BYTES) {
        if (memcmp(was + slot, is + slot, SLOT_BYTES) == 0) continue;
        for (i = slot; i < slot + SLOT_BYTES; i++)
            if (was[i] != is[i] && !may[i]) {
                char text[80];
                snprintf(text, sizeof text, "byte %zu of %s", i, where);
                fuzz_check(false, "only elements of outputs are written", text);
            }
    }
}

/* Leading dimensions of length 1 make no difference. */
static bool same_shape(uint32_t rank_a, const int64_t *a, uint32_t rank_b, const int64_t *b) {
    while (rank_a && *a == 1) rank_a--, a++;
    while (rank_b && *b == 1) rank_b--, b++;
    return rank_a == rank_b && (!rank_a || memcmp(a, b, rank_a * sizeof *a) == 0);
}

/* What the shapes are said to be before the call is what the call takes. */
static void check_shapes(const fuzz_call *call, bool taken) {
    uint32_t rank = 99, i;
    int64_t shape[ANYMAX_MAX_RANK];
    size_t k, t;
    for (k = 0; call->info && k < ANYMAX_OP_MAX_TENSORS && call->info->outputs[k].name; k++) {
        const char *name = call->info->outputs[k].name;
        anymax_status status =
            anymax_call_shape(call->op, call->tensors, call->tensor_count, call->params,
                              call->param_count, name, &rank, shape);
        if (status != ANYMAX_OK) {
            fuzz_sentence(anymax_error_message());
            fuzz_check(!taken, "the shapes of a call that is taken are told",
                       anymax_error_message());
            continue;
        }
        fuzz_check(rank <= ANYMAX_MAX_RANK, "a told shape has a rank", name);
        for (i = 0; i < rank; i++) fuzz_check(shape[i] >= 0, "a told shape has sizes", name);
        for (t = 0; taken && t < call->tensor_count; t++) {
            const anymax_tensor *given = call->tensors[t].tensor;
            if (!given || strcmp(call->tensors[t].name, name) != 0) continue;
            if (!fuzz_call_writes(call, name)) continue; /* backward, it may not even be read */
            if (rank == 1 && shape[0] == 1) continue;    /* a reduced loss may have any rank */
            fuzz_check(same_shape(given->rank, given->shape, rank, shape),
                       "a told shape is the one that is taken", name);
        }
    }
}

static void run(fuzz_call *call, size_t device) {
    static uint8_t buffer_is[ARENA_BYTES / 2];
    static uint8_t host_may[ARENA_BYTES], buffer_may[ARENA_BYTES / 2];
    bool runs = fuzz_call_runs(call, &all.memory[device]);
    anymax_stream *stream = runs ? all.stream[device] : all.planner[device];
    anymax_status status;
    memset(host_may, 0, sizeof host_may);
    memset(buffer_may, 0, sizeof buffer_may);
    memcpy(all.host, all.host_was, sizeof all.host_was);
    demand(anymax_buffer_write(all.stream[device], all.memory[device].buffer, 0, all.buffer_was,
                               sizeof all.buffer_was));
    status = anymax_call(stream, call->op, call->tensors, call->tensor_count, call->params,
                         call->param_count);
    if (status != ANYMAX_OK) {
        fuzz_sentence(anymax_error_message());
    } else if (runs) {
        fuzz_call_mark(call, &all.memory[device], host_may, buffer_may);
        if (anymax_stream_sync(stream) != ANYMAX_OK) fuzz_sentence(anymax_error_message());
    }
    check_shapes(call, status == ANYMAX_OK);
    read_buffer(device, buffer_is);
    unchanged(all.host_was, all.host, host_may, ARENA_BYTES, "host memory");
    unchanged(all.buffer_was, buffer_is, buffer_may, sizeof buffer_is, "the buffer");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_bytes bytes = {data, data + size};
    fuzz_call call;
    size_t device;
    prepare();
    device = fuzz_byte(&bytes) % DEVICES;
    fuzz_call_make(&call, &bytes, &all.memory[device]);
    run(&call, device);
    fuzz_call_free(&call);
    return 0;
}
