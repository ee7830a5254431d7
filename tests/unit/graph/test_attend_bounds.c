/* test_attend_bounds.c - the longest sentences' lengths that ATTEND receives from the tape, and those that it
 * refuses. */
#include "tensor/graph/tape.h"
#include "tapes.h"

enum { ROWS = 10, SOURCES = 14, WIDTH = 4 };

/* Cross-attention of ROWS queries over SOURCES keys. queries: the longest sentence's number, 0: unknown. */
static ab_t attend(ab_ctx *c, int64_t queries, int64_t keys, double dropout)
{
    ab_t q = input(c, 0, (int64_t[4]){1, 1, ROWS, WIDTH}), kv = input(c, 1, (int64_t[4]){1, 1, SOURCES, 2 * WIDTH});
    ab_t q_off = t_ids(c, 2, (int32_t[]){0, ROWS}), k_off = t_ids(c, 2, (int32_t[]){0, SOURCES});
    const attend_spec s = {{0, 0, WIDTH}, 1, WIDTH, WIDTH, 1, dropout, 0, keys, queries};
    return t_attend(c, q, kv, kv, q_off, k_off, &s);
}

static void check_bounds(int64_t said, int64_t expected)
{
    params s = {0};
    ab_ctx *c = tape_new(&s, &cpu_backend, F64, true);
    ab_t y = attend(c, said, SOURCES, 0);
    t_keep(c, weighed(c, y), "loss");
    CHECK_INT(tape_at(c, y)->a.ATTEND.most_keys, SOURCES);
    CHECK_INT(tape_at(c, y)->a.ATTEND.most_queries, expected);
    tape_backward(c, tape_find(c, "loss"));
    int found = 0;
    for (int32_t i = 1; i < c->n; i++) {
        if (c->v[i].op != OP_ATTEND_BACK) continue;
        CHECK_INT(c->v[i].a.ATTEND.most_keys, SOURCES);
        CHECK_INT(c->v[i].a.ATTEND.most_queries, expected);
        found++;
    }
    CHECK_INT(found, 1);
    tape_free(c);
    params_free(&s);
}

/* words: the expected message; "": the call must be accepted. */
static void check_refusal(int64_t keys, double dropout, bool training, const char *words)
{
    params s = {0};
    ab_ctx *c = tape_new(&s, &cpu_backend, F64, training);
    ab_t y = attend(c, 0, keys, dropout);
    CHECK_INT(y.id == 0, *words != 0);
    CHECK_TEXT(c->error.text, words);
    tape_free(c);
    params_free(&s);
}

int main(void)
{
    check_bounds(7, 7);
    check_bounds(0, ROWS); /* 0: unknown, so the bound is all rows */
    check_refusal(ATTEND_KEYS, 0.1, true, "");
    check_refusal(ATTEND_KEYS + 1, 0.1, true,
                  "attention with dropout: found a sentence of 1048577 keys, expected at most 1048576");
    check_refusal(ATTEND_KEYS + 1, 0.1, false, "");
    check_refusal(ATTEND_KEYS + 1, 0, true, "");
    return test_end();
}
