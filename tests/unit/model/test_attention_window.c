/* ab_window: what it adds to the scores where attention is composed, and which bounds it refuses.
 * tests/unit/cpu/test_window.c has the kernel. */
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

int main(void)
{
    check_values();
    check_refused();
    return test_end();
}
