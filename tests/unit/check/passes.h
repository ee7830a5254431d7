/* passes.h - runs one pass of a small model in double precision and reads recorded values, for tests of what plugins
 * record. */
#ifndef ABLATE_TEST_PASSES_H
#define ABLATE_TEST_PASSES_H
#include "network/check/internal.h"
#include "services.h"

static inline void open_model(model *m, const pairing *w)
{
    static const model_kind exact = {.compute = F64};
    err e = {0};
    CHECK_INT(check_model_open(m, w, &exact, &e), 0);
    CHECK_TEXT(e.text, "");
    if (e.text[0]) exit(test_end());
}

/* Runs one pass over the four sentences. */
static inline void open_pass(model *m, pass *p, bool training)
{
    err e = {0};
    static sentences s;
    check_sentences(&s);
    CHECK_INT(pass_open(p, m, &s, training, 2, 0, &e), 0);
    CHECK_INT(pass_run(p, 1, &e), 0);
    CHECK_TEXT(e.text, "");
}

static inline void close_both(model *m, pass *p)
{
    pass_close(p);
    model_free(m);
}

/* Returns the recorded value of one element, or NaN if this value was not recorded. */
static inline double kept(const pass *p, const char *name)
{
    ab_t x = tape_find(p->c, name);
    return x.id ? *(const double *)p->c->v[x.id].data : NAN;
}
#endif
