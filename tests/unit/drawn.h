/* drawn.h - which long cases this run of the tests includes. */
#ifndef ABLATE_DRAWN_H
#define ABLATE_DRAWN_H
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Built with sanitizers, which make everything several times slower. */
#ifdef __SANITIZE_ADDRESS__
enum { TEST_SANITIZED = 1 };
#else
enum { TEST_SANITIZED = 0 };
#endif

/* Is this a run before a release (`tests/reliability.sh whole`)? For cases too long for `ablate test --all`. */
static inline bool test_exhaustive(void)
{
    const char *w = getenv("ABLATE_TEST_WHOLE");
    return w && *w;
}
/* Is this a run of `ablate test --all`, or of more? For cases too long for the short suite. */
static inline bool test_long(void)
{
    const char *l = getenv("ABLATE_TEST_LONG");
    return test_exhaustive() || (l && *l);
}
/* Is case i in this run? Of each `of` successive cases a run includes one, chosen by the time of day; a run before a
 * release includes all cases. ABLATE_TEST_DRAW=N repeats the choice of an earlier run. */
static inline bool test_drawn(size_t i, size_t of)
{
    static size_t from;
    static bool asked;
    if (!asked) {
        const char *given = getenv("ABLATE_TEST_DRAW");
        /* 5040 is a multiple of every `of` up to 10 */
        from = given ? strtoul(given, NULL, 10) : (size_t)time(NULL) % 5040;
        asked = true;
        printf("cases drawn with ABLATE_TEST_DRAW=%zu\n", from);
    }
    return test_exhaustive() || (i + from) % of == 0;
}
#endif
