/* Threads of a CPU device: a list of works, whose units any thread takes by an atomic counter. Who
 * has nothing to do stays awake for a while before it sleeps, as waking a thread takes longer than
 * many works do. */
#include "pool.h"

#include <stdatomic.h>
#include <stdbool.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "../os.h"

/* How long a thread waits awake: about what waking it costs. */
#define AWAKE_NS 50000
/* Looks between two times that the processor is offered to others, and the clock read. */
#define LOOKS 32
/* Works in close succession from which on helpers are woken for the ones to come. */
#define STREAK 8

/* A call of am_pool_run; it lives on its caller's stack until no helper is in it. */
typedef struct work {
    struct work *next;
    void (*run)(const void *user, int64_t first, int64_t end, void *scratch);
    const void *user;
    int64_t units, grain;
    _Atomic int64_t taken;
    _Atomic uint32_t helpers; /* grows under the mutex, and only while this is in the list */
} work;

typedef struct worker {
    am_pool *pool;
    am_thread thread;
    void *scratch;
} worker;

struct am_pool {
    am_mutex mutex;
    am_condition wanted, done; /* there is work; a helper has left one */
    work *first;
    worker *workers;
    uint32_t worker_count; /* at most */
    uint32_t started;      /* of which run */
    uint64_t awake_ns;
    size_t scratch_bytes;
    bool tried, stop;
    _Atomic uint32_t posted;   /* works so far, and the end; changes under the mutex */
    _Atomic uint32_t sleepers; /* callers that may wait for `done` */
    _Atomic uint32_t awake;    /* workers that do not wait for `wanted` */
    _Atomic uint32_t streak;   /* questions of am_pool_lively, each soon after the one before */
    _Atomic uint64_t asked_ns; /* when the last one was */
};

static void pause_briefly(void) {
#if defined(__SSE2__)
    _mm_pause();
#elif defined(__aarch64__) && defined(__GNUC__)
    __asm__ volatile("isb");
#endif
}

/* Until *value is, or is no longer, `wanted`; false if that took too long to stay awake. */
static bool wait_awake(const am_pool *pool, const _Atomic uint32_t *value, uint32_t wanted,
                       bool same) {
    const uint64_t start = pool->awake_ns > 0 ? am_time_ns() : 0;
    while (pool->awake_ns > 0) {
        for (int i = 0; i < LOOKS; i++) {
            bool equal = atomic_load_explicit(value, memory_order_acquire) == wanted;
            if (equal == same) return true;
            pause_briefly();
        }
        if (am_time_ns() - start >= pool->awake_ns) return false;
        am_thread_yield();
    }
    return false;
}

static void take_units(work *w, void *scratch) {
    for (;;) {
        int64_t begin = atomic_fetch_add_explicit(&w->taken, w->grain, memory_order_relaxed);
        if (begin >= w->units) return;
        int64_t end = w->units - begin < w->grain ? w->units : begin + w->grain;
        w->run(w->user, begin, end, scratch);
    }
}

static work *find_work(const am_pool *pool) {
    work *w = pool->first;
    while (w != NULL && atomic_load_explicit(&w->taken, memory_order_relaxed) >= w->units)
        w = w->next;
    return w;
}

/* A caller counts itself among the sleepers before it looks at helpers under the mutex, and this
 * looks at sleepers after it has left: in sequential consistency one of the two sees the other.
 * `w` may be gone by then. */
static void leave_work(am_pool *pool, work *w) {
    if (atomic_fetch_sub(&w->helpers, 1) > 1 || atomic_load(&pool->sleepers) == 0) return;
    am_mutex_lock(&pool->mutex);
    am_condition_broadcast(&pool->done);
    am_mutex_unlock(&pool->mutex);
}

static void worker_main(void *argument) {
    worker *self = argument;
    am_pool *pool = self->pool;
    bool tired = false;
    atomic_fetch_add_explicit(&pool->awake, 1, memory_order_relaxed);
    am_mutex_lock(&pool->mutex);
    while (!pool->stop) {
        uint32_t seen = atomic_load_explicit(&pool->posted, memory_order_relaxed);
        work *w = find_work(pool);
        if (w == NULL && tired) {
            tired = false; /* if others have done the work by then, more may be on its way */
            atomic_fetch_sub_explicit(&pool->awake, 1, memory_order_relaxed);
            am_condition_wait(&pool->wanted, &pool->mutex);
            atomic_fetch_add_explicit(&pool->awake, 1, memory_order_relaxed);
            continue;
        }
        if (w != NULL) atomic_fetch_add_explicit(&w->helpers, 1, memory_order_relaxed);
        am_mutex_unlock(&pool->mutex);
        if (w != NULL) {
            take_units(w, self->scratch);
            leave_work(pool, w);
        }
        /* Not under the mutex, which the caller of the same work wants at this very time. */
        tired = !wait_awake(pool, &pool->posted, seen, false);
        am_mutex_lock(&pool->mutex);
    }
    am_mutex_unlock(&pool->mutex);
}

am_pool *am_pool_create(uint32_t threads, size_t scratch_bytes) {
    am_pool *pool = am_alloc_zero(1, sizeof *pool);
    if (pool == NULL) return NULL;
    pool->scratch_bytes = scratch_bytes;
    pool->worker_count = threads > 1 ? threads - 1 : 0;
    /* Threads beyond the processors would keep others from their work. */
    pool->awake_ns = threads <= am_cpu_count() ? AWAKE_NS : 0;
    pool->workers = am_alloc_zero(pool->worker_count + 1, sizeof *pool->workers);
    bool mutex = am_mutex_init(&pool->mutex);
    bool wanted = am_condition_init(&pool->wanted), done = am_condition_init(&pool->done);
    if (pool->workers != NULL && mutex && wanted && done) return pool;
    if (done) am_condition_destroy(&pool->done);
    if (wanted) am_condition_destroy(&pool->wanted);
    if (mutex) am_mutex_destroy(&pool->mutex);
    am_free(pool->workers);
    am_free(pool);
    return NULL;
}

void am_pool_destroy(am_pool *pool) {
    if (pool == NULL) return;
    am_mutex_lock(&pool->mutex);
    pool->stop = true;
    atomic_fetch_add_explicit(&pool->posted, 1, memory_order_release);
    am_condition_broadcast(&pool->wanted);
    am_mutex_unlock(&pool->mutex);
    for (uint32_t i = 0; i < pool->started; i++) {
        am_thread_join(&pool->workers[i].thread);
        am_free_aligned(pool->workers[i].scratch);
    }
    am_condition_destroy(&pool->done);
    am_condition_destroy(&pool->wanted);
    am_mutex_destroy(&pool->mutex);
    am_free(pool->workers);
    am_free(pool);
}

/* Fewer threads than wanted are no failure: the caller's own does the work. */
static void start_workers(am_pool *pool) {
    pool->tried = true;
    for (uint32_t i = 0; i < pool->worker_count; i++) {
        worker *w = &pool->workers[i];
        w->pool = pool;
        w->scratch = am_alloc_aligned(64, pool->scratch_bytes);
        if (w->scratch == NULL) return;
        if (!am_thread_start(&w->thread, worker_main, w)) {
            am_free_aligned(w->scratch);
            w->scratch = NULL;
            return;
        }
        pool->started = i + 1;
    }
}

void am_pool_run(am_pool *pool, int64_t units, int64_t grain,
                 void (*run)(const void *user, int64_t first, int64_t end, void *scratch),
                 const void *user, void *scratch) {
    work w = {.run = run, .user = user, .units = units, .grain = grain};
    if (pool->worker_count == 0 || units <= grain) {
        run(user, 0, units, scratch);
        return;
    }
    am_mutex_lock(&pool->mutex);
    if (!pool->tried) start_workers(pool);
    w.next = pool->first;
    pool->first = &w;
    am_condition_broadcast(&pool->wanted);
    atomic_fetch_add_explicit(&pool->posted, 1, memory_order_release);
    am_mutex_unlock(&pool->mutex);
    take_units(&w, scratch);
    am_mutex_lock(&pool->mutex);
    work **link = &pool->first;
    while (*link != &w) link = &(*link)->next;
    *link = w.next;
    am_mutex_unlock(&pool->mutex);
    if (wait_awake(pool, &w.helpers, 0, true)) return;
    atomic_fetch_add(&pool->sleepers, 1);
    am_mutex_lock(&pool->mutex);
    while (atomic_load(&w.helpers) > 0) am_condition_wait(&pool->done, &pool->mutex);
    am_mutex_unlock(&pool->mutex);
    atomic_fetch_sub(&pool->sleepers, 1);
}

bool am_pool_lively(am_pool *pool) {
    if (pool->worker_count == 0 || pool->awake_ns == 0) return false;
    if (atomic_load_explicit(&pool->awake, memory_order_relaxed) > 0) return true;
    /* Callers that ask at once may lose a count, which only puts the waking off. */
    uint64_t now = am_time_ns();
    uint64_t before = atomic_exchange_explicit(&pool->asked_ns, now, memory_order_relaxed);
    uint32_t streak = 0;
    if (now - before < pool->awake_ns)
        streak = 1 + atomic_load_explicit(&pool->streak, memory_order_relaxed);
    atomic_store_explicit(&pool->streak, streak, memory_order_relaxed);
    return streak >= STREAK;
}
