/* The client's side of a page of shared memory: its words, its locks, sleeping and waking.
 *
 * docs/PROTOCOL.md has the rules, client/memory_page.py the same in Python. Where things are comes
 * from client/page_layout.py, as arguments. No Python here: all of this may run without the
 * interpreter's lock.
 */
#ifndef TORQUED_PAGE_H
#define TORQUED_PAGE_H

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SECOND = 1000000000 };
/* Looks for an output that is whole, where the daemon overtakes each of them. */
enum { TRIES = 8 };

struct page {
    char *memory;
    uint64_t slots; /* each way */
    uint64_t states, state_slot, outputs, output_slot, lock_bytes; /* bytes */
    uint64_t states_word, daemon_sleeps, outputs_word, client_sleeps;
    uint64_t state_bytes, output_bytes; /* of a frame */
    uint32_t sent, taken;               /* frames, modulo 2^32 */
    int64_t spin;                       /* ns that an output is watched for before this sleeps */
};

static inline int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * SECOND + time.tv_nsec;
}

static inline uint32_t *word_at(const struct page *page, uint64_t place)
{
    return (uint32_t *)(page->memory + place);
}

static inline uint32_t load(const struct page *page, uint64_t place)
{
    return __atomic_load_n(word_at(page, place), __ATOMIC_ACQUIRE);
}

static inline bool has_output(const struct page *page)
{
    return load(page, page->outputs_word) != page->taken;
}

/* The slot of the next state, locked; its frame begins after the lock. */
static inline char *begin_state(struct page *page)
{
    const uint32_t count = ++page->sent;
    char *slot = page->memory + page->states + count % page->slots * page->state_slot;
    __atomic_store_n((uint64_t *)slot, 2 * (uint64_t)count + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return slot + page->lock_bytes;
}

/* Unlock that slot, count its frame, and wake the daemon where it sleeps. */
static inline void end_state(struct page *page, char *frame)
{
    const uint32_t count = page->sent;
    __atomic_store_n((uint64_t *)(frame - page->lock_bytes), 2 * (uint64_t)count, __ATOMIC_RELEASE);
    __atomic_store_n(word_at(page, page->states_word), count, __ATOMIC_RELEASE);
    /* Either we see that the daemon sleeps, or it sees this state before it does. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (load(page, page->daemon_sleeps) != 0)
        syscall(SYS_futex, word_at(page, page->states_word), FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* The newest output, unless it is number `taken`; NULL where there is none that is whole. What is
 * read of it counts only if `is_still_whole` says so afterwards. */
static inline const char *newest_output(const struct page *page, int64_t taken, uint32_t *count)
{
    for (int k = 0; k < TRIES; ++k) {
        *count = load(page, page->outputs_word);
        if ((int64_t)*count == taken) return NULL;
        const char *slot = page->memory + page->outputs + *count % page->slots * page->output_slot;
        if (__atomic_load_n((const uint64_t *)slot, __ATOMIC_ACQUIRE) == 2 * (uint64_t)*count)
            return slot + page->lock_bytes;
    }
    return NULL;
}

static inline bool is_still_whole(const struct page *page, const char *frame, uint32_t count)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    const uint64_t *lock = (const uint64_t *)(frame - page->lock_bytes);
    return __atomic_load_n(lock, __ATOMIC_RELAXED) == 2 * (uint64_t)count;
}

/* Copy the newest output; whether there was one. */
static inline bool take_output(struct page *page, char *target)
{
    for (int k = 0; k < TRIES; ++k) {
        uint32_t count;
        const char *frame = newest_output(page, page->taken, &count);
        if (frame == NULL) return false;
        memcpy(target, frame, page->output_bytes);
        if (is_still_whole(page, frame, count)) {
            page->taken = count;
            return true;
        }
    }
    return false;
}

/* Look for another output again and again, at most so many ns; whether there is one. Whoever wants
 * this processor gets it meanwhile: it may be who writes the output. */
static inline bool watch(const struct page *page, int64_t nanoseconds)
{
    const int64_t until = now() + nanoseconds;
    while (!has_output(page)) {
        if (now() >= until) return false;
        sched_yield();
    }
    return true;
}

/* Until there is another output, or so many ns are over; may return early. */
static inline void wait_for_output(struct page *page, int64_t nanoseconds)
{
    if (page->spin > 0 && watch(page, page->spin < nanoseconds ? page->spin : nanoseconds)) return;
    const struct timespec limit = {nanoseconds / SECOND, nanoseconds % SECOND};
    __atomic_store_n(word_at(page, page->client_sleeps), 1u, __ATOMIC_SEQ_CST);
    /* The system looks at the word once more. */
    syscall(SYS_futex, word_at(page, page->outputs_word), FUTEX_WAIT, page->taken, &limit, NULL, 0);
    __atomic_store_n(word_at(page, page->client_sleeps), 0u, __ATOMIC_RELAXED);
}

#endif
