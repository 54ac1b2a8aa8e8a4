/* Threads of a CPU device: a list of works, whose units any thread takes by an atomic counter. */
#include "pool.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "../os.h"

/* A call of am_pool_run; it lives on its caller's stack until no helper is in it. */
typedef struct work {
    struct work *next;
    void (*run)(const void *user, int64_t first, int64_t end, void *scratch);
    const void *user;
    int64_t units, grain;
    _Atomic int64_t taken;
    int helpers;
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
    size_t scratch_bytes;
    bool tried, stop;
};

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

static void worker_main(void *argument) {
    worker *self = argument;
    am_pool *pool = self->pool;
    am_mutex_lock(&pool->mutex);
    while (!pool->stop) {
        work *w = find_work(pool);
        if (w == NULL) {
            am_condition_wait(&pool->wanted, &pool->mutex);
            continue;
        }
        w->helpers++;
        am_mutex_unlock(&pool->mutex);
        take_units(w, self->scratch);
        am_mutex_lock(&pool->mutex);
        if (--w->helpers == 0) am_condition_broadcast(&pool->done);
    }
    am_mutex_unlock(&pool->mutex);
}

am_pool *am_pool_create(uint32_t threads, size_t scratch_bytes) {
    am_pool *pool = am_alloc_zero(1, sizeof *pool);
    if (pool == NULL) return NULL;
    pool->scratch_bytes = scratch_bytes;
    pool->worker_count = threads > 1 ? threads - 1 : 0;
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
    am_mutex_unlock(&pool->mutex);
    take_units(&w, scratch);
    am_mutex_lock(&pool->mutex);
    work **link = &pool->first;
    while (*link != &w) link = &(*link)->next;
    *link = w.next;
    while (w.helpers > 0) am_condition_wait(&pool->done, &pool->mutex);
    am_mutex_unlock(&pool->mutex);
}
