/* Misuse of host functions by plugins: each is refused with a message. */
#include "tensor/graph/tape.h"
#include "network/plugin/attention_context.h"
#include "network/plugin/plugin.h"
#include "test.h"

static const ab_host *h = &host_table;

static params none;
typedef struct {
    ab_ctx *c;
    ab_t ids, square, stacked; /* ids [3], square: ids [3,3], stacked: numbers [2,3,4] */
} desk;

static desk open_desk(void)
{
    desk d = {0};
    ab_ctx *c = d.c = tape_new(&none, NULL, F64, false);
    d.ids = t_input(c, "ids", I32, PHASE_STEP, 1, 1, 1, 3);
    d.square = t_input(c, "square", I32, PHASE_STEP, 1, 1, 3, 3);
    d.stacked = t_input(c, "stacked", F64, PHASE_STEP, 1, 2, 3, 4);
    return d;
}

/* Expects the tape to have failed with these words, and frees it. */
static void refused(ab_ctx *c, ab_t y, const char *words)
{
    CHECK_INT(y.id, 0);
    CHECK_HAS(c->error.text, words);
    tape_free(c);
}

static void test_shapes(void)
{
    desk d = open_desk();
    refused(d.c, h->concat(d.c, d.ids, h->to_float(d.c, d.ids), -1), "ab_concat: found ids and numbers");
    d = open_desk();
    refused(d.c, h->scatter_add(d.c, h->to_float(d.c, d.square), d.square, 0), "ab_scatter_add: 0 buckets");
    d = open_desk();
    refused(d.c, h->clipped_relative_position(d.c, d.ids, d.ids, -2),
            "ab_clipped_relative_position: clip -2, expected 0 or more");
    d = open_desk();
    refused(d.c, h->embedding(d.c, d.stacked, d.ids), "ab_embedding: a table of shape [2,3,4]");
    d = open_desk();
    CHECK(h->concat(d.c, d.ids, d.ids, -1).id && h->clipped_relative_position(d.c, d.ids, d.ids, 0).id);
    CHECK_TEXT(d.c->error.text, "");
    tape_free(d.c);
}

/* x + dropout(s) needs equal shapes. */
static void test_add_dropout(void)
{
    attn_context k = {0};
    desk d = open_desk();
    d.c->attn = &k;
    d.c->hook = AB_IN_BLOCK;
    refused(d.c, h->add_dropout(d.c, h->full(d.c, 1, (int64_t[]){1}, 1), d.stacked),
            "ab_add_dropout: [1] and [2,3,4], expected equal shapes");
}

/* Without a model ab_info returns sizes of 1, so that no plugin divides by 0, and the tape fails. */
static void test_nowhere(void)
{
    desk d = open_desk();
    CHECK_INT(h->info(d.c)->heads, 1);
    refused(d.c, (ab_t){0}, "ab_info was called in no plugin's function; it may be called in an attention's forward");
    d = open_desk();
    refused(d.c, h->weight(d.c, "w", 1, (int64_t[]){2}, 1), "ab_weight was called in");
    d = open_desk();
    refused(d.c, h->linear(d.c, d.stacked, "w", 2, 1), "ab_linear was called in");
    d = open_desk();
    refused(d.c, h->gru(d.c, d.stacked, "in", "u", 2, 0), "ab_gru was called in");
    d = open_desk();
    refused(d.c, h->conv(d.c, d.stacked, "w", 2, 1, 1), "ab_conv was called in");
}

/* ab_delta_scan runs along one sentence: queries and keys have the same positions, as in self-attention only. */
static void test_delta_scan(void)
{
    attn_context self = {.x = {1}, .mem = {1}, .info = {.role = AB_CAUSAL}}, cross = {.x = {1}, .mem = {2}};
    ab_t none = {0};
    desk d = open_desk();
    refused(d.c, h->delta_scan(d.c, d.stacked, d.stacked, d.stacked, none, none), "ab_delta_scan was called in");
    const struct {
        attn_context *where;
        int64_t keys, beta[2];
        const char *words;
    } cases[] = {{&cross, 3, {3, 1}, "ab_delta_scan: expected self-attention; in cross-attention a query"},
                 {&self, 4, {3, 1}, "delta_scan: keys [2,4,4] do not fit queries [2,3,4]"},
                 {&self, 3, {3, 4}, "delta_scan: beta [2,3,4] do not fit queries [2,3,4]"}};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        d = open_desk();
        d.c->attn = cases[i].where;
        d.c->hook = AB_IN_FORWARD;
        ab_t k = h->full(d.c, 3, (int64_t[]){2, cases[i].keys, 4}, 1);
        ab_t beta = h->full(d.c, 3, (int64_t[]){2, cases[i].beta[0], cases[i].beta[1]}, 1);
        refused(d.c, h->delta_scan(d.c, d.stacked, k, d.stacked, beta, none), cases[i].words);
    }
}

/* ab_long_conv: a filter has as many columns as the rows, and a decoder must not read the future. */
static void test_long_conv(void)
{
    attn_context decoder = {.x = {1}, .mem = {1}, .q_rows = 4, .info = {.role = AB_CAUSAL}}, encoder = decoder;
    encoder.info.role = AB_SELF;
    ab_t none = {0};
    desk d = open_desk();
    refused(d.c, h->long_conv(d.c, d.stacked, d.stacked, none), "ab_long_conv was called in");
    const struct {
        attn_context *where;
        int64_t width;
        bool future;
        const char *words;
    } cases[] = {{&decoder, 3, true, "a decoder cannot run backwards over the future"},
                 {&encoder, 2, true, "ab_long_conv: the filter is [5,2], expected [L,3]"},
                 {&decoder, 4, false, "ab_long_conv: the filter is [5,4], expected [L,3]"}};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        d = open_desk();
        d.c->attn = cases[i].where;
        d.c->hook = AB_IN_FORWARD;
        ab_t x = h->full(d.c, 2, (int64_t[]){4, 3}, 1), w = h->full(d.c, 2, (int64_t[]){5, cases[i].width}, 1);
        refused(d.c, h->long_conv(d.c, x, w, cases[i].future ? w : none), cases[i].words);
    }
}

/* In an embedding ab_info knows the model, but there are no queries and keys. */
static void test_embedding(void)
{
    attn_context k = {.info = {.d_model = 12}};
    desk d = open_desk();
    d.c->attn = &k;
    d.c->hook = AB_IN_EMBED;
    CHECK_INT(h->info(d.c)->d_model, 12);
    refused(d.c, h->qpos(d.c), "ab_qpos was called in a position's embed; it may be called in an attention's forward");
    d = open_desk();
    d.c->attn = &k;
    d.c->hook = AB_IN_EMBED;
    h->assign(d.c, d.stacked, d.stacked);
    refused(d.c, (ab_t){0}, "ab_assign was called in a position's embed; it may be called in an optimizer's update");
}

/* If two plugins use the same parameter name, the second is refused. */
static void test_owners(void)
{
    static const int64_t dims[] = {2, 3};
    params values = {0};
    attn_context k = {.x = {1}, .mem = {1}};
    desk d = open_desk();
    d.c->params = &values;
    d.c->attn = &k;
    d.c->hook = AB_IN_FORWARD;
    d.c->scope = "enc.0.self";
    ab_t first = h->weight(d.c, "table", 2, dims, 1);
    CHECK(first.id && h->weight(d.c, "table", 2, dims, 1).id == first.id);
    d.c->hook = AB_IN_BIAS;
    CHECK(h->weight(d.c, "other", 2, dims, 1).id != first.id);
    refused(d.c, h->weight(d.c, "table", 2, dims, 1),
            "the attention and the position, name a parameter 'enc.0.self.table'");
    params_free(&values);
}

/* Functions are only appended to ab_host: plugins built for older minor versions find every function at its offset. */
static void test_rows(void)
{
#define SINCE(result, name, parameters, arguments, tag, since) {#name, offsetof(ab_host, name), since},
#define NO_ROW(...)
    static const struct {
        const char *name;
        size_t at;
        unsigned since;
    } rows[] = {AB_HOST(SINCE, NO_ROW, NO_ROW)};
    /* size of ab_host in versions 2.0, 2.1, ... [bytes] */
    static const size_t ends[] = {736, 744, 752, 760, 784, 816, 920, 968};
    size_t n = sizeof rows / sizeof *rows;
    CHECK_INT(sizeof ends / sizeof *ends, AB_ABI_MINOR + 1);
    for (size_t i = 0; i < n; i++) {
        size_t from = rows[i].since ? ends[rows[i].since - 1] : 0;
        CHECK_THAT(from <= rows[i].at && rows[i].at < ends[rows[i].since],
                   "%s: since 2.%u, at byte %zu, expected %zu to %zu", rows[i].name, rows[i].since, rows[i].at, from,
                   ends[rows[i].since] - sizeof(void *));
    }
    CHECK_INT(h->size, ends[AB_ABI_MINOR]);
}

int main(void)
{
    test_rows();
    test_shapes();
    test_add_dropout();
    test_nowhere();
    test_delta_scan();
    test_long_conv();
    test_embedding();
    test_owners();
    return test_end();
}
