/* reject.h - the message of a task's function that fails. */
#ifndef ABLATE_TASKS_REJECT_H
#define ABLATE_TASKS_REJECT_H
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* Writes the message into err [n_err]; returns -1. */
__attribute__((format(printf, 3, 4))) static inline int reject(char *err, size_t n_err, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(err, n_err, fmt, args);
    va_end(args);
    return -1;
}
#endif
