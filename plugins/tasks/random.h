/* random.h - random numbers of tasks that make or divide data: SplitMix64, Steele et al. 2014. */
#ifndef ABLATE_TASKS_RANDOM_H
#define ABLATE_TASKS_RANDOM_H
#include <stdint.h>

static inline uint64_t splitmix(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
#endif
