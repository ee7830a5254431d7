/* split.h - splits a corpus without dev and test files: a number in [0, 1) computed from a text alone decides its part.
 * */
#ifndef ABLATE_TASKS_SPLIT_H
#define ABLATE_TASKS_SPLIT_H
#include <stdint.h>

/* FNV-1a with a last mixing (Steele et al. 2014, SplitMix). */
static inline double split_place(const char *text)
{
    uint64_t h = 14695981039346656037u;
    for (; *text; text++) h = (h ^ (unsigned char)*text) * 1099511628211u;
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
    return (double)((h ^ (h >> 31)) >> 11) * 0x1p-53;
}
#define SPLIT_SHARE 0.05 /* share of dev, and of test */
#endif
