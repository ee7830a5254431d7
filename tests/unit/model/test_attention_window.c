/* ab_window and ab_key_blocks: the numbers that these functions add to the scores of composed attention, and the bounds
 * and blocks that they refuse. tests/unit/cpu/test_window.c tests the kernel. */
#include "tensor/cpu/cpu.h"
#include "network/plugin/attention_context.h"
#include "network/plugin/plugin.h"
#include "test.h"

enum { SENTENCES = 2, TQ = 3, TK = 5 };

typedef struct {
    params values;
    attn_context k;
    ab_ctx *c;
    ab_t s; /* zeros [2,1,3,5] */
} desk;

static void open_desk(desk *d)
{
    *d = (desk){.values = {0}};
    ab_ctx *c = d->c = tape_new(&d->values, &cpu_backend, F64, false);
    d->k = (attn_context){.info = {.heads = 1, .d_k = 2, .d_v = 2, .d_model = 2, .n_layers = 1, .role = AB_CROSS},
                          .batch = SENTENCES,
                          .q_time = TQ,
                          .k_time = TK,
                          .kpos = t_ids(c, TK, (int32_t[]){0, 1, 2, 3, 4})};
    c->attn = &d->k;
    c->hook = AB_IN_FORWARD;
    d->s = t_const(c, (int64_t[4]){SENTENCES, 1, TQ, TK}, (double[SENTENCES * TQ * TK]){0});
}
static void close_desk(desk *d)
{
    tape_free(d->c);
    params_free(&d->values);
}

static void check_values(void)
{
    desk d;
    open_desk(&d);
    ab_t from = t_const(d.c, (int64_t[4]){1, 1, TQ, 1}, (double[]){-1, 1, 3});
    ab_t to = t_const(d.c, (int64_t[4]){SENTENCES, 1, 1, 1}, (double[]){4, 9});
    t_keep(d.c, host_table.window(d.c, d.s, from, to), "s");
    CHECK_TEXT(d.c->error.text, "");
    CHECK_INT(tape_plan(d.c, NULL, NULL), 0);
    CHECK_INT(tape_run(d.c, &(run_options){.from = PHASE_CONST}), 0);
    double s[SENTENCES * TQ * TK];
    err e = {0};
    CHECK_INT(tape_read(d.c, tape_find(d.c, "s"), s, sizeof s, &e), 0);
    for (int i = 0; i < SENTENCES * TQ * TK; i++) {
        int first = (int[]){-1, 1, 3}[i / TK % TQ], end = i / TK / TQ ? 9 : 4, key = i % TK;
        CHECK_NEAR(s[i], key < first || key >= end ? -1e9 : 0, 0);
    }
    close_desk(&d);
}

static void check_refused(void)
{
    desk d;
    open_desk(&d);
    ab_t one = t_const(d.c, (int64_t[4]){1, 1, 1, 1}, (double[]){0}),
         row = t_const(d.c, (int64_t[4]){1, 1, 1, TQ}, (double[]){0, 0, 0});
    CHECK_INT(host_table.window(d.c, d.s, one, row).id, 0);
    CHECK_HAS(d.c->error.text, "ab_window: from [1] and to [3], expected numbers [2 or 1,1,3 or 1,1]");
    close_desk(&d);
}

/* Blocks of 2 keys, the last one of 1 key. The choice of blocks differs by sentence and query, or by query, or is the
 * same for all. */
static void check_blocks(int sentences, int queries)
{
    enum { SIZE = 2, N = 3 };
    desk d;
    open_desk(&d);
    double allowed[SENTENCES * TQ * N], s[SENTENCES * TQ * TK];
    for (int i = 0; i < sentences * queries * N; i++) allowed[i] = i * 5 % 3 - 1; /* numbers -1 and 0 hide a block */
    ab_t blocks = t_const(d.c, (int64_t[4]){sentences, 1, queries, N}, allowed);
    t_keep(d.c, host_table.key_blocks(d.c, d.s, blocks, SIZE), "s");
    CHECK_TEXT(d.c->error.text, "");
    CHECK_INT(tape_plan(d.c, NULL, NULL), 0);
    CHECK_INT(tape_run(d.c, &(run_options){.from = PHASE_CONST}), 0);
    err e = {0};
    CHECK_INT(tape_read(d.c, tape_find(d.c, "s"), s, sizeof s, &e), 0);
    for (int i = 0; i < SENTENCES * TQ * TK; i++) {
        int sentence = sentences > 1 ? i / TK / TQ : 0, query = queries > 1 ? i / TK % TQ : 0;
        CHECK_NEAR(s[i], allowed[(sentence * queries + query) * N + i % TK / SIZE] > 0 ? 0 : -1e9, 0);
    }
    close_desk(&d);
}

/* The choice of blocks has no gradient, even if it is computed from learned values. */
static void check_no_gradient(void)
{
    desk d;
    open_desk(&d);
    ab_t learned = t_param(d.c, "w", (int64_t[4]){1, 1, 1, TK}, 1, 0);
    CHECK(tape_at(d.c, learned)->needs);
    CHECK(!tape_at(d.c, host_table.key_blocks(d.c, d.s, learned, 1))->needs);
    close_desk(&d);
}

static void check_blocks_refused(void)
{
    static const struct {
        int64_t dim[4], size;
        const char *says;
    } cases[] = {
        {{1, 1, 3, 5},
         2,
         "ab_key_blocks: allowed [3,5] for scores [2,1,3,5] in blocks of 2 keys, expected [2,1,3,3], or 1 along"},
        {{1, 1, 2, 3},
         2,
         "ab_key_blocks: allowed [2,3] for scores [2,1,3,5] in blocks of 2 keys, expected [2,1,3,3], or 1 along"},
        {{1, 1, 1, 1},
         2,
         "ab_key_blocks: allowed [1] for scores [2,1,3,5] in blocks of 2 keys, expected [2,1,3,3], or 1 along"},
        {{1, 1, 1, 1}, 0, "ab_key_blocks: blocks of 0 keys, expected 1 or more"},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        desk d;
        open_desk(&d);
        CHECK_INT(host_table.key_blocks(d.c, d.s, t_const(d.c, cases[i].dim, (double[15]){0}), cases[i].size).id, 0);
        CHECK_HAS(d.c->error.text, cases[i].says);
        close_desk(&d);
    }
}

int main(void)
{
    check_blocks(SENTENCES, TQ);
    check_blocks(1, TQ);
    check_blocks(1, 1);
    check_no_gradient();
    check_blocks_refused();
    check_values();
    check_refused();
    return test_end();
}
