/* error.c - keeps the first error; aborts at a broken invariant. */
#include "base/base.h"
#include "base/cleanup.h"
#include <errno.h>

/* Escapes bytes that a terminal would obey, because a message may quote others' files. */
static void show(err *e)
{
    if (is_printable(e->text, true)) return;
    CLEANUP(str_free) str text = {0};
    str_add_shown(&text, e->text, true);
    snprintf(e->text, sizeof e->text, "%s", text.s);
}

int fail_list(err *e, const char *fmt, va_list args)
{
    if (!e || e->text[0]) return -1;
    vsnprintf(e->text, sizeof e->text, fmt, args);
    show(e);
    if (!e->text[0]) strcpy(e->text, "failed without a reason");
    return -1;
}

int fail(err *e, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fail_list(e, fmt, args);
    va_end(args);
    return -1;
}

int fail_in(err *e, const char *fmt, ...)
{
    if (!e) return -1;
    err whole; /* not e itself: the arguments may point into e->text */
    va_list args;
    va_start(args, fmt);
    vsnprintf(whole.text, sizeof whole.text, fmt, args);
    va_end(args);
    size_t n = strlen(whole.text);
    snprintf(whole.text + n, sizeof whole.text - n, "%s", e->text);
    memcpy(e->text, whole.text, sizeof e->text);
    show(e);
    return -1;
}

void cannot_print(const char *fmt)
{
    if (errno == ENOMEM) out_of_memory(0);
    broken("format \"%s\" cannot be printed", fmt);
}

void broken(const char *fmt, ...)
{
    char text[2048];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    fprintf(stderr, "broken: %s\n", text);
    abort();
}
