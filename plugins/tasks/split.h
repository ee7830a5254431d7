/* split.h - splits a corpus without dev and test files by a number in [0, 1), the hash of a text. */
#ifndef ABLATE_TASKS_SPLIT_H
#define ABLATE_TASKS_SPLIT_H
#include "tasks/random.h"
#include <string.h>

static inline double split_place(const char *text)
{
    return (double)(mixed(hash_of(text, strlen(text))) >> 11) * 0x1p-53;
}
#define SPLIT_SHARE 0.05 /* share that dev gets, and share that test gets */
#endif
