/* memory.h - the end of the program when memory is refused to a task, as the host ends it: with a message and exit code
 * 1. */
#ifndef ABLATE_TASKS_MEMORY_H
#define ABLATE_TASKS_MEMORY_H
#include <stdio.h>
#include <unistd.h>

_Noreturn static inline void out_of_memory(void)
{
    fputs("out of memory\n", stderr);
    _exit(1); /* what runs at a normal end may want memory too */
}
static inline void *need(void *p) /* what malloc and the like gave */
{
    if (!p) out_of_memory();
    return p;
}
#endif
