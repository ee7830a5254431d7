/* random.h - random numbers and hashes for tasks that generate or split data. */
#ifndef ABLATE_TASKS_RANDOM_H
#define ABLATE_TASKS_RANDOM_H
#include <stddef.h>
#include <stdint.h>

static inline uint64_t mixed(uint64_t z) /* SplitMix64's mixing step, Steele et al. 2014 */
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline uint64_t splitmix(uint64_t *state) { return mixed(*state += 0x9e3779b97f4a7c15u); }

static inline uint64_t hash_of(const char *s, size_t n) /* FNV-1a */
{
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)s[i]) * 1099511628211u;
    return h;
}

static inline double uniform(uint64_t *state) { return (double)(splitmix(state) >> 11) * 0x1p-53; } /* in [0, 1) */

/* Writes a random order of 0 .. n - 1 (Fisher and Yates 1938; Durstenfeld 1964). */
static inline void random_order(uint64_t *state, int64_t n, int64_t *order)
{
    for (int64_t i = 0; i < n; i++) order[i] = i;
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t j = (int64_t)(splitmix(state) % (uint64_t)(i + 1)), kept = order[i];
        order[i] = order[j], order[j] = kept;
    }
}
#endif
