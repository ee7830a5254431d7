/* test.h - assertions that print both values. A test program's main() calls checks and returns test_end(). */
#ifndef ABLATE_TEST_H
#define ABLATE_TEST_H
#include "drawn.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int test_failed, test_done;

#define CHECK(cond)                                                                                                    \
    do {                                                                                                               \
        test_done++;                                                                                                   \
        if (!(cond)) test_failed++, printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #cond);                        \
    } while (0)
#define CHECK_INT(found, expected)                                                                                     \
    do {                                                                                                               \
        int64_t f_ = (int64_t)(found), e_ = (int64_t)(expected);                                                       \
        test_done++;                                                                                                   \
        if (f_ != e_)                                                                                                  \
            test_failed++,                                                                                             \
                printf("%s:%d: %s: found %" PRId64 ", expected %" PRId64 "\n", __FILE__, __LINE__, #found, f_, e_);    \
    } while (0)
#define CHECK_NEAR(found, expected, tolerance)                                                                         \
    do {                                                                                                               \
        double f_ = (double)(found), e_ = (double)(expected), t_ = (double)(tolerance);                                \
        test_done++;                                                                                                   \
        if (!(fabs(f_ - e_) <= t_))                                                                                    \
            test_failed++, printf("%s:%d: %s: found %.17g, expected %.17g, differ by %.3g, allowed %.3g\n", __FILE__,  \
                                  __LINE__, #found, f_, e_, fabs(f_ - e_), t_);                                        \
    } while (0)
#define CHECK_TEXT(found, expected)                                                                                    \
    do {                                                                                                               \
        const char *f_ = (found), *e_ = (expected);                                                                    \
        test_done++;                                                                                                   \
        if (!f_ || strcmp(f_, e_))                                                                                     \
            test_failed++, printf("%s:%d: %s\n  found    \"%s\"\n  expected \"%s\"\n", __FILE__, __LINE__, #found,     \
                                  f_ ? f_ : "(null)", e_);                                                             \
    } while (0)
#define CHECK_HAS(text, part)                                                                                          \
    do {                                                                                                               \
        const char *f_ = (text), *e_ = (part);                                                                         \
        test_done++;                                                                                                   \
        if (!f_ || !strstr(f_, e_))                                                                                    \
            test_failed++, printf("%s:%d: %s\n  found           \"%s\"\n  expected within \"%s\"\n", __FILE__,         \
                                  __LINE__, #text, f_ ? f_ : "(null)", e_);                                            \
    } while (0)

/* Checks a condition; on failure prints the given message, which must name the values found and expected. */
#define CHECK_THAT(condition, ...)                                                                                     \
    do {                                                                                                               \
        test_done++;                                                                                                   \
        if (!(condition)) test_failed++, printf("%s:%d: ", __FILE__, __LINE__), printf(__VA_ARGS__), putchar('\n');    \
    } while (0)

/* Returns the folder of real corpora, or NULL: then the caller skips tests, and prints which. */
static inline const char *test_data(void)
{
    const char *d = getenv("ABLATE_DATA");
    return d && *d ? d : NULL;
}
static inline int test_end(void)
{
    printf("%d checks, %d failed\n", test_done, test_failed);
    return test_failed || !test_done ? 1 : 0;
}
#endif
