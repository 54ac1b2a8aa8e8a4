/* anchor_cpu.c: the best copy and the best plain read of a processor.
 *
 * There are several ways to do either, and which is best depends on the size and on the machine:
 * large copies are faster with stores that go past the caches, since a plain store reads its line
 * first. So all are tried when the buffers are made, and the fastest is kept. */
#include "anchor.h"

#include "cpu/pool.h"
#include "os.h"
#include "timing.h"

#include <string.h>

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#define HAVE_SSE2
#if defined(__GNUC__)
#define HAVE_AVX512
#endif
#endif

#define AHEAD 4096 /* bytes from a load to what is prefetched */
#define TRIES 4
#define PAGE 4096

/* Copies `from` to `to`, or reads `from` alone; what it returns depends on every byte that was
 * read, so that no read can be left out. */
typedef uint64_t (*cpu_way)(char *to, const char *from, size_t bytes);

static uint64_t copy_plain(char *to, const char *from, size_t bytes) {
    memcpy(to, from, bytes);
    return 0;
}

static uint64_t read_plain(char *to, const char *from, size_t bytes) {
    uint64_t lane[16] = {0}, word[16];
    size_t i, k;
    (void)to;
    for (i = 0; i < bytes; i += sizeof word) {
        memcpy(word, from + i, sizeof word);
        for (k = 0; k < 16; k++) lane[k] += word[k];
    }
    for (k = 1; k < 16; k++) lane[0] += lane[k];
    return lane[0];
}

#ifdef HAVE_SSE2
static uint64_t copy_stream16(char *to, const char *from, size_t bytes) {
    size_t i, k;
    for (i = 0; i < bytes; i += 64) {
        _mm_prefetch(from + i + AHEAD, _MM_HINT_T0);
        for (k = 0; k < 4; k++)
            _mm_stream_si128((__m128i *)(void *)(to + i) + k,
                             _mm_load_si128((const __m128i *)(const void *)(from + i) + k));
    }
    _mm_sfence();
    return 0;
}
#endif

#ifdef HAVE_AVX512
#define AVX512 __attribute__((target("avx512f")))

AVX512 static uint64_t copy_stream64(char *to, const char *from, size_t bytes) {
    size_t i;
    for (i = 0; i < bytes; i += 128) {
        __m512i a = _mm512_load_si512(from + i), b = _mm512_load_si512(from + i + 64);
        _mm_prefetch(from + i + AHEAD, _MM_HINT_T0);
        _mm_prefetch(from + i + AHEAD + 64, _MM_HINT_T0);
        _mm512_stream_si512((__m512i *)(void *)(to + i), a);
        _mm512_stream_si512((__m512i *)(void *)(to + i + 64), b);
    }
    _mm_sfence();
    return 0;
}

AVX512 static uint64_t read64(char *to, const char *from, size_t bytes) {
    __m512i a = _mm512_setzero_si512(), b = a, c = a, d = a;
    size_t i;
    (void)to;
    for (i = 0; i < bytes; i += 256) {
        for (size_t k = 0; k < 256; k += 64) _mm_prefetch(from + i + AHEAD + k, _MM_HINT_T0);
        a = _mm512_add_epi64(a, _mm512_load_si512(from + i));
        b = _mm512_add_epi64(b, _mm512_load_si512(from + i + 64));
        c = _mm512_add_epi64(c, _mm512_load_si512(from + i + 128));
        d = _mm512_add_epi64(d, _mm512_load_si512(from + i + 192));
    }
    a = _mm512_add_epi64(_mm512_add_epi64(a, b), _mm512_add_epi64(c, d));
    return (uint64_t)_mm512_reduce_add_epi64(a);
}
#endif

typedef struct cpu_state {
    am_pool *pool;
    char *from, *to;
    cpu_way way;
    size_t part; /* bytes of a unit: a thread's turn */
    uint64_t sum[256];
} cpu_state;

static size_t list_ways(anchor_kind kind, cpu_way way[4]) {
    size_t n = 0;
    way[n++] = kind == ANCHOR_COPY ? copy_plain : read_plain;
#ifdef HAVE_SSE2
    if (kind == ANCHOR_COPY) way[n++] = copy_stream16;
#endif
#ifdef HAVE_AVX512
    if (__builtin_cpu_supports("avx512f")) way[n++] = kind == ANCHOR_COPY ? copy_stream64 : read64;
#endif
    return n;
}

static void some_parts(const void *user, int64_t first, int64_t end, void *scratch) {
    const anchor *a = user;
    cpu_state *s = a->state;
    (void)scratch;
    for (; first < end; first++) {
        size_t at = (size_t)first * s->part, left = a->length - at;
        s->sum[first] =
            s->way(s->to ? s->to + at : NULL, s->from + at, left < s->part ? left : s->part);
    }
}

static bool cpu_run(anchor *a) {
    const cpu_state *s = a->state;
    am_pool_run(s->pool, (int64_t)((a->length + s->part - 1) / s->part), 1, some_parts, a, NULL);
    return true;
}

static bool cpu_ends(anchor *a, uint32_t word[2]) {
    const cpu_state *s = a->state;
    memcpy(&word[0], s->to, sizeof *word);
    memcpy(&word[1], s->to + a->length - sizeof *word, sizeof *word);
    return true;
}

static void choose_way(anchor *a) {
    cpu_state *s = a->state;
    cpu_way way[4], best = NULL;
    size_t count = list_ways(a->kind, way), i;
    double least = 0;
    int tries;
    for (tries = 0; tries < TRIES; tries++)
        for (i = 0; i < count; i++) {
            double start;
            s->way = way[i];
            cpu_run(a); /* brings what fits into the caches */
            start = timing_now();
            cpu_run(a);
            start = timing_now() - start;
            if (best && start >= least) continue;
            least = start;
            best = way[i];
        }
    s->way = best;
}

static bool cpu_resize(anchor *a) {
    cpu_state *s = a->state;
    size_t parts = sizeof s->sum / sizeof *s->sum;
    am_free_aligned(s->from);
    am_free_aligned(s->to);
    s->from = am_alloc_aligned(PAGE, a->length + AHEAD + 256); /* prefetches reach over the end */
    s->to = a->kind == ANCHOR_COPY ? am_alloc_aligned(PAGE, a->length) : NULL;
    if (!s->from || (!s->to && a->kind == ANCHOR_COPY))
        return io_fail(&a->error, "no memory for a %s of %zu bytes", anchor_kind_name(a->kind),
                       a->length);
    memset(s->from, 1, a->length + AHEAD + 256);
    if (s->to) memset(s->to, 0, a->length);
    /* With one thread a single part: as a loop over the whole would be. */
    if (a->threads == 1) parts = 1;
    s->part = ((a->length + parts - 1) / parts + PAGE - 1) / PAGE * PAGE;
    choose_way(a);
    if (s->to) memset(s->to, 0, a->length);
    return true;
}

static bool cpu_open(anchor *a) {
    cpu_state *s = am_alloc_zero(1, sizeof *s);
    a->state = s;
    if (s) s->pool = am_pool_create(a->threads, 64);
    return s && s->pool ? true : io_fail(&a->error, "no memory");
}

static void cpu_close(anchor *a) {
    cpu_state *s = a->state;
    if (!s) return;
    am_pool_destroy(s->pool);
    am_free_aligned(s->from);
    am_free_aligned(s->to);
    am_free(s);
}

const anchor_backend anchor_cpu = {.name = "cpu",
                                   .open = cpu_open,
                                   .resize = cpu_resize,
                                   .run = cpu_run,
                                   .ends = cpu_ends,
                                   .close = cpu_close};
