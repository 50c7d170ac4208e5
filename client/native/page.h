/* The client's side of a page of shared memory: a seqlock each way, sleeping and waking.
 *
 * docs/PROTOCOL.md has the rules. No Python here: all of this may run without the interpreter's
 * lock.
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

/* Bytes from the beginning of the page, and the bytes of a lock: client/memory/page_layout.py. */
enum { STATES = 64, DAEMON_SLEEPS = 68, OUTPUTS = 128, CLIENT_SLEEPS = 132, LOCK_BYTES = 8 };
enum { SECOND = 1000000000 }; /* ns */
/* Attempts to read an output while the daemon overtakes each of them. */
enum { TRIES = 8 };

struct page {
    char *memory;
    uint64_t slots;                                    /* each way */
    uint64_t states, state_slot, outputs, output_slot; /* bytes */
    uint64_t state_bytes, output_bytes;                /* of a frame */
    uint32_t sent, taken;                              /* frames, modulo 2^32 */
    int64_t spin; /* ns of polling for an output before the thread sleeps */
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
    return load(page, OUTPUTS) != page->taken;
}

/* Write the next state into its slot, count it, and wake the daemon if it sleeps. */
static inline void write_state(struct page *page, const void *frame)
{
    const uint32_t count = ++page->sent;
    char *slot = page->memory + page->states + count % page->slots * page->state_slot;
    uint64_t *lock = (uint64_t *)slot;
    __atomic_store_n(lock, 2 * (uint64_t)count + 1, __ATOMIC_RELAXED);
    /* The daemon sees the odd lock before any byte of the frame. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    memcpy(slot + LOCK_BYTES, frame, page->state_bytes);
    /* Release: the daemon that sees the even lock, or the count, sees the whole frame. */
    __atomic_store_n(lock, 2 * (uint64_t)count, __ATOMIC_RELEASE);
    __atomic_store_n(word_at(page, STATES), count, __ATOMIC_RELEASE);
    /* Store, then load: either we see that the daemon sleeps, or it sees this state before it
     * does. Only a sequentially consistent fence orders these two. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (load(page, DAEMON_SLEEPS) != 0)
        syscall(SYS_futex, word_at(page, STATES), FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Copy the newest output; false if none is new and whole. */
static inline bool read_output(struct page *page, char *target)
{
    for (int k = 0; k < TRIES; ++k) {
        const uint32_t count = load(page, OUTPUTS);
        if (count == page->taken) return false;
        const char *slot = page->memory + page->outputs + count % page->slots * page->output_slot;
        const uint64_t *lock = (const uint64_t *)slot;
        const uint64_t whole = 2 * (uint64_t)count;
        /* Acquire: no byte of the frame is read before the lock. */
        if (__atomic_load_n(lock, __ATOMIC_ACQUIRE) != whole) continue;
        memcpy(target, slot + LOCK_BYTES, page->output_bytes);
        /* All bytes are read before the lock is read again. */
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        if (__atomic_load_n(lock, __ATOMIC_RELAXED) == whole) {
            page->taken = count;
            return true;
        }
    }
    return false;
}

/* Poll for another output, at most so many ns; whether there is one. Yields to other threads: one
 * of them may write the output. */
static inline bool poll_for_output(const struct page *page, int64_t nanoseconds)
{
    const int64_t until = now() + nanoseconds;
    while (!has_output(page)) {
        if (now() >= until) return false;
        sched_yield();
    }
    return true;
}

/* Wait until there is another output, at most so many ns; may return early. */
static inline void wait_for_output(const struct page *page, int64_t nanoseconds)
{
    const int64_t spin = page->spin < nanoseconds ? page->spin : nanoseconds;
    if (spin > 0 && poll_for_output(page, spin)) return;
    const struct timespec limit = {nanoseconds / SECOND, nanoseconds % SECOND};
    __atomic_store_n(word_at(page, CLIENT_SLEEPS), 1u, __ATOMIC_SEQ_CST);
    /* The system compares the word with `taken` again before the thread sleeps. */
    syscall(SYS_futex, word_at(page, OUTPUTS), FUTEX_WAIT, page->taken, &limit, NULL, 0);
    __atomic_store_n(word_at(page, CLIENT_SLEEPS), 0u, __ATOMIC_RELAXED);
}

#endif
