/* drawn.h - chooses the long cases that a run of the tests includes. */
#ifndef ABLATE_DRAWN_H
#define ABLATE_DRAWN_H
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Built with sanitizers, where everything takes several times as long. */
#ifdef __SANITIZE_ADDRESS__
enum { TEST_SANITIZED = 1 };
#else
enum { TEST_SANITIZED = 0 };
#endif

/* Cases that take longer than those of `ablate test --all` run before a release: `tests/reliability.sh whole`. */
static inline bool test_exhaustive(void)
{
    const char *w = getenv("ABLATE_TEST_WHOLE");
    return w && *w;
}
/* Cases that take long run in `ablate test --all`. */
static inline bool test_long(void)
{
    const char *l = getenv("ABLATE_TEST_LONG");
    return test_exhaustive() || (l && *l);
}
/* Is case i in this run? Of each `of` cases in a row one is, another in each run; before a release all are.
 * ABLATE_TEST_DRAW=N repeats a run's. */
static inline bool test_drawn(size_t i, size_t of)
{
    static size_t from;
    static bool asked;
    if (!asked) {
        const char *given = getenv("ABLATE_TEST_DRAW");
        from = given ? strtoul(given, NULL, 10) : (size_t)time(NULL) % 5040; /* a multiple of any `of` up to 10 */
        asked = true;
        printf("cases drawn with ABLATE_TEST_DRAW=%zu\n", from);
    }
    return test_exhaustive() || (i + from) % of == 0;
}
#endif
