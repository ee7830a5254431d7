/* memory.h - ends the program when a task is out of memory, with the host's message and exit code 1. */
#ifndef ABLATE_TASKS_MEMORY_H
#define ABLATE_TASKS_MEMORY_H
#include <stdio.h>
#include <unistd.h>

static inline void *need(void *p) /* Checks the result of malloc and the like. */
{
    if (p) return p;
    fputs("out of memory\n", stderr);
    _exit(1); /* exit handlers may need memory, too */
}
#endif
