/* ab_gru, ab_lstm and ab_conv by the CPU's operations for them (RECURRENT, NEIGHBOURS) give the same outputs and
 * gradients as these layers composed of simpler operations, in every role, and in whole models. */
#include "network/check/internal.h"
#include "services.h"
#include "opened.h"
#include "network/plugin/attention_context.h"

static backend composed; /* a CPU backend without operations for layers */

/* ---- one layer ---- */

enum { N = 5, SENTENCES = 4, DUMMIES = 3, QUERY_ROWS = 12, KEY_ROWS = 14 };
static const int32_t query_offset[] = {0, 4, 5, 7, QUERY_ROWS - DUMMIES},
                     key_offset[] = {0, 2, 7, 8, KEY_ROWS - DUMMIES};

typedef struct {
    const char *name;
    uint32_t role;
    enum { GRU, CONV, LSTM } kind;
    /* for a convolution: width and taps before and after; for a recurrent layer `behind` 1 means backwards */
    int64_t d, before, behind;
} layer_case;
static const layer_case cases[] = {
    {"gru, encoder, forwards", AB_SELF, GRU, 4, 0, 0},
    {"gru, encoder, backwards", AB_SELF, GRU, 4, 0, 1},
    {"gru, decoder", AB_CAUSAL, GRU, 7, 0, 0},
    {"gru of one unit", AB_SELF, GRU, 1, 0, 0},
    {"gru over memory, forwards", AB_CROSS, GRU, 6, 0, 0},
    {"gru over memory, backwards", AB_CROSS, GRU, 6, 0, 1},
    {"lstm, encoder, forwards", AB_SELF, LSTM, 4, 0, 0},
    {"lstm, encoder, backwards", AB_SELF, LSTM, 9, 0, 1},
    {"lstm, decoder", AB_CAUSAL, LSTM, 17, 0, 0},
    {"lstm of one unit", AB_SELF, LSTM, 1, 0, 0},
    {"lstm over memory, backwards", AB_CROSS, LSTM, 6, 0, 1},
    {"conv 1 + 1 + 1, encoder", AB_SELF, CONV, 6, 1, 1},
    {"conv 2 + 1 + 3, encoder", AB_SELF, CONV, 6, 2, 3},
    {"conv 0 + 1 + 2, encoder", AB_SELF, CONV, 4, 0, 2},
    {"conv 2 + 1, decoder", AB_CAUSAL, CONV, 5, 2, 0},
    {"conv 1 of 1, decoder", AB_CAUSAL, CONV, 3, 0, 0},
    {"conv 6 + 1 + 6, over memory", AB_CROSS, CONV, 4, 6, 6},
};

typedef struct {
    params values;
    ab_ctx *c;
    attn_context k;
    ab_t x, mem, over; /* over: the rows that the layer runs over */
} desk;

static ab_t lengths_of(ab_ctx *c, const int32_t *offset)
{
    int32_t v[SENTENCES];
    for (int i = 0; i < SENTENCES; i++) v[i] = offset[i + 1] - offset[i];
    return t_ids(c, SENTENCES, v);
}

static void open_desk(desk *d, uint32_t role, const backend *b, dtype compute)
{
    *d = (desk){.values = {0}};
    ab_ctx *c = d->c = tape_new(&d->values, b, compute, true);
    dtype type = compute == F64 ? F64 : F32;
    bool cross = role == AB_CROSS;
    d->x = d->mem = d->over = t_input(c, "x", type, PHASE_STEP, 1, 1, QUERY_ROWS, N);
    if (cross) d->mem = d->over = t_input(c, "mem", type, PHASE_STEP, 1, 1, KEY_ROWS, N);
    tape_at(c, d->over)->needs = true;
    ab_t q_off = t_ids(c, SENTENCES + 1, query_offset), k_off = cross ? t_ids(c, SENTENCES + 1, key_offset) : q_off;
    d->k = (attn_context){
        .info = {.heads = 1, .d_k = N, .d_v = N, .d_model = N, .n_layers = 1, .role = role, .training = 1},
        .x = d->x,
        .mem = d->mem,
        .q_rows = QUERY_ROWS,
        .k_rows = cross ? KEY_ROWS : QUERY_ROWS,
        .batch = SENTENCES,
        .q_time = 5,
        .k_time = cross ? 6 : 5,
        .q_off = q_off,
        .k_off = k_off,
        .klen = lengths_of(c, cross ? key_offset : query_offset)};
    c->attn = &d->k;
    c->hook = AB_IN_FORWARD;
}

static void close_desk(desk *d)
{
    tape_free(d->c);
    params_free(&d->values);
}

static ab_t layer(ab_ctx *c, const layer_case *l, ab_t x)
{
    if (l->kind == CONV) return host_table.conv(c, x, "w", l->d, l->before, l->behind);
    return (l->kind == LSTM ? host_table.lstm : host_table.gru)(c, x, "in", "u", l->d, l->behind > 0);
}

/* Returns a weighted sum of y, in which every element, also in dummy rows, has its own weight. */
static ab_t weighed(ab_ctx *c, ab_t y)
{
    int64_t d[4];
    memcpy(d, tape_at(c, y)->dim, sizeof d);
    size_t n = (size_t)node_count(tape_at(c, y));
    double *w = xmalloc(n * sizeof *w);
    for (size_t i = 0; i < n; i++) w[i] = check_hashed(77, i);
    ab_t loss = t_sum_to(c, t_binary(c, OP_MUL, y, t_const(c, d, w)), (int64_t[4]){1, 1, 1, 1});
    free(w);
    return loss;
}

static void fill(void *at, dtype type, size_t n, uint64_t place)
{
    for (size_t i = 0; i < n; i++) {
        if (type == F64)
            ((double *)at)[i] = (float)check_hashed(place, i);
        else
            ((float *)at)[i] = (float)check_hashed(place, i);
    }
}

static int64_t count_op(const ab_ctx *c, op o)
{
    int64_t n = 0;
    for (int32_t i = 1; i < c->n; i++) n += c->v[i].op == o;
    return n;
}
static int64_t count_layers(const ab_ctx *c) { return count_op(c, OP_RECURRENT) + count_op(c, OP_NEIGHBOURS); }

/* Computes loss (recorded as "loss") and gradients (the rows' as "d rows"). Returns false if that failed. */
static bool run_layer(desk *d, const layer_case *l, const backend *b, dtype compute)
{
    open_desk(d, l->role, b, compute);
    ab_ctx *c = d->c;
    ab_t loss = weighed(c, t_cast(c, layer(c, l, d->over), compute == F64 ? F64 : F32));
    c->attn = NULL, c->hook = AB_IN_HOST;
    t_keep(c, loss, "loss");
    bool good = !tape_backward(c, loss) && c->grad[d->over.id];
    if (good) t_keep(c, (ab_t){c->grad[d->over.id]}, "d rows");
    params_alloc(&d->values, compute == F64 ? F64 : F32, 0, 3, b);
    fill(d->values.value, d->values.type, d->values.total, 5);
    good = good && !tape_plan(c, NULL, NULL);
    if (good) fill(tape_at(c, d->over)->data, tape_at(c, d->over)->type, (size_t)node_count(tape_at(c, d->over)), 6);
    good = good && !tape_run(c, &(run_options){.from = PHASE_CONST});
    CHECK_TEXT(c->error.text, "");
    CHECK(good);
    return good;
}

/* ---- comparing ---- */

typedef struct {
    double apart, size; /* apart: largest difference of two tensors; size: largest element */
    double found, expected;
} gap;

static gap gap_between(const void *found, dtype found_type, const void *expected, dtype type, size_t n)
{
    gap g = {0};
    for (size_t i = 0; i < n; i++) {
        double a = number_at(found, found_type, i), b = number_at(expected, type, i);
        g.size = fmax(g.size, fabs(b));
        if (isnan(g.apart) || fabs(a - b) <= g.apart) continue; /* NaN stays */
        g = (gap){fabs(a - b), g.size, a, b};
    }
    return g;
}

/* Checks a difference in units of the tensor's largest element, or of `least` if that is larger. */
static void check_gap(const char *name, const char *what, gap g, double least, double allowed)
{
    double relative = g.apart / fmax(g.size, least);
    CHECK_NEAR(relative, 0, allowed);
    if (!(relative <= allowed))
        printf("  %s, %s: in one operation %.9g, composed %.9g (largest %.3g)\n", name, what, g.found, g.expected,
               g.size);
}

static void compare_desks(const layer_case *l, const desk *one, const desk *many, double allowed)
{
    const node *a = tape_at(one->c, tape_find(one->c, "loss")), *b = tape_at(many->c, tape_find(many->c, "loss"));
    printf("%s, %s: loss %.9g, composed %.9g, allowed %.0e\n", l->name, dtype_name(one->c->compute),
           number_at(a->data, a->type, 0), number_at(b->data, b->type, 0), allowed);
    check_gap(l->name, "the loss", gap_between(a->data, a->type, b->data, b->type, 1), 1, allowed);
    a = tape_at(one->c, tape_find(one->c, "d rows")), b = tape_at(many->c, tape_find(many->c, "d rows"));
    CHECK_INT(node_count(a), node_count(b));
    check_gap(l->name, "the gradient of the rows",
              gap_between(a->data, a->type, b->data, b->type, (size_t)node_count(b)), 0, allowed);
    CHECK_INT(one->values.n, many->values.n);
    CHECK_INT(one->values.n, l->kind == CONV ? 2 : 3);
    for (size_t i = 0; i < one->values.n && i < many->values.n; i++) {
        const param *p = &one->values.p[i], *q = &many->values.p[i];
        CHECK_TEXT(p->name, q->name);
        CHECK(!memcmp(p->dim, q->dim, sizeof p->dim) && p->scale == q->scale && p->fill == q->fill);
        const char *x = one->values.grad, *y = many->values.grad;
        gap g = gap_between(x + p->at * dtype_size(one->values.type), one->values.type,
                            y + q->at * dtype_size(many->values.type), many->values.type, q->count);
        check_gap(l->name, p->name, g, 0, allowed);
    }
}

/* Compares in fp32 with the composed layer in fp64; in bf16, too, where rows and their gradients are rounded to 8
 * bits. */
static void check_layer(const layer_case *l)
{
    static const struct {
        dtype type;
        double allowed;
    } ways[] = {{F64, 1e-12}, {F32, 2e-6}, {BF16, 4e-2}};
    desk many;
    bool good = run_layer(&many, l, &composed, F64);
    CHECK_INT(count_layers(many.c), 0);
    for (size_t i = 0; i < LENGTH(ways) && good; i++) {
        desk one;
        if (run_layer(&one, l, &cpu_backend, ways[i].type)) compare_desks(l, &one, &many, ways[i].allowed);
        CHECK_INT(count_op(one.c, OP_RECURRENT), l->kind != CONV);
        CHECK_INT(count_op(one.c, OP_NEIGHBOURS), l->kind == CONV);
        CHECK_INT(count_op(one.c, OP_HEADS) + count_op(one.c, OP_MATMUL), 0);
        close_desk(&one);
    }
    close_desk(&many);
}

/* Parameters have the names, shapes and first values of the layer's linear maps, as in checkpoints. */
static void check_values(void)
{
    static const struct {
        const char *name;
        int64_t rows, columns;
        double range; /* first values are uniform in +- sqrt(range); range 0: they are zeros */
    } values[3][3] = {{{"in.w", N, 12, 6.0 / (N + 12)}, {"in.b", 1, 12, 0}, {"u", 4, 12, 1.0 / 4}},
                      {{"w.w", 4 * N, 4, 6.0 / (4 * N + 4)}, {"w.b", 1, 4, 0}},
                      {{"in.w", N, 16, 6.0 / (N + 16)}, {"in.b", 1, 16, 0}, {"u", 4, 16, 1.0 / 4}}};
    for (int kind = GRU; kind <= LSTM; kind++) {
        desk d;
        open_desk(&d, AB_SELF, &cpu_backend, F32);
        layer(d.c, &(layer_case){"values", AB_SELF, kind, 4, 2, kind == CONV}, d.over);
        CHECK_INT(d.values.n, kind == CONV ? 2 : 3);
        for (size_t i = 0; i < d.values.n; i++) {
            const param *p = &d.values.p[i];
            CHECK_TEXT(p->name, values[kind][i].name);
            CHECK_INT(p->dim[2], values[kind][i].rows);
            CHECK_INT(p->dim[3], values[kind][i].columns);
            CHECK_NEAR(p->scale * p->scale, values[kind][i].range, 1e-12);
            CHECK_NEAR(p->fill, 0, 0);
        }
        close_desk(&d);
    }
}

/* The profile counts the product of every row's state with u, in both passes. */
static void check_flops(void)
{
    for (int lstm = 0; lstm < 2; lstm++) {
        layer_case l = {"flops", AB_SELF, lstm ? LSTM : GRU, 4, 0, 0};
        int counted = 0;
        desk d;
        run_layer(&d, &l, &cpu_backend, F32);
        for (int32_t i = 1; i < d.c->n; i++) {
            call k;
            if (d.c->v[i].op != OP_RECURRENT && d.c->v[i].op != OP_RECURRENT_BACK) continue;
            tape_call(d.c, i, &(run_options){0}, &k);
            CHECK_NEAR(call_flops(&k, &cpu_backend), 2.0 * QUERY_ROWS * 4 * (lstm ? 16 : 12), 0);
            counted++;
        }
        CHECK_INT(counted, 2);
        close_desk(&d);
    }
}

/* ---- cases that are computed without RECURRENT or NEIGHBOURS ---- */

static void check_composed(void)
{
    static const layer_case all[] = {
        {"gru", AB_CAUSAL, GRU, 4, 0, 0}, {"conv", AB_CAUSAL, CONV, 4, 2, 0}, {"lstm", AB_CAUSAL, LSTM, 4, 0, 0}};
    for (size_t i = 0; i < LENGTH(all); i++)
        for (int why = 0; why < 4; why++) {
            desk d;
            open_desk(&d, AB_CAUSAL, why == 1 ? &composed : &cpu_backend, F32);
            d.k.generic = why == 2;
            if (why == 3) { /* one row per sentence, as in step-by-step decoding */
                int32_t every[QUERY_ROWS + 1];
                for (int32_t r = 0; r <= QUERY_ROWS; r++) every[r] = r;
                d.k.q_off = d.k.k_off = t_ids(d.c, QUERY_ROWS + 1, every);
                d.k.parents = t_ids(d.c, QUERY_ROWS, every);
                d.k.batch = QUERY_ROWS, d.k.q_time = d.k.k_time = 1, d.k.decode = true;
            }
            CHECK(layer(d.c, &all[i], d.over).id);
            CHECK_TEXT(d.c->error.text, "");
            CHECK_INT(count_layers(d.c), why == 0);
            CHECK_INT(count_op(d.c, OP_STATE_WRITE), why == 3);
            close_desk(&d);
        }
}

/* Checks that the layers' own operations and the composed layers refuse with the same message. */
static void check_refused(void)
{
    enum { OVER_IT, OVER_X, OVER_BOTH, OVER_PADDED };
    static const struct {
        layer_case l;
        int over;
        const char *name;
    } refused[] = {
        {{"", AB_CAUSAL, GRU, 4, 0, 1}, OVER_IT, "scan: a decoder cannot run backwards over the future"},
        {{"", AB_CAUSAL, CONV, 4, 1, 1}, OVER_IT, "scan: a decoder cannot run backwards over the future"},
        {{"", AB_CROSS, GRU, 4, 0, 0}, OVER_X, "scan: cross attention can scan only rows from mem"},
        {{"", AB_CROSS, CONV, 4, 1, 0}, OVER_X, "scan: cross attention can scan only rows from mem"},
        {{"", AB_CROSS, GRU, 4, 0, 0}, OVER_BOTH, "ab_pad: rows from both x and mem"},
        {{"", AB_SELF, GRU, 4, 0, 0}, OVER_PADDED, "gru: [4,5,5], expected rows [12,n]"},
        {{"", AB_SELF, CONV, 4, 1, 0}, OVER_PADDED, "conv: [4,5,5], expected rows [12,n]"},
        {{"", AB_SELF, GRU, 0, 0, 0}, OVER_IT, "ab_gru: 0 units, expected 1 or more"},
        {{"", AB_SELF, LSTM, 4, 0, 0}, OVER_PADDED, "lstm: [4,5,5], expected rows [12,n]"},
        {{"", AB_SELF, LSTM, 0, 0, 0}, OVER_IT, "ab_lstm: 0 units, expected 1 or more"},
        {{"", AB_SELF, CONV, 4, -1, 0}, OVER_IT, "ab_conv: found width 4 over -1 positions before and 0 after"},
    };
    for (size_t i = 0; i < LENGTH(refused); i++)
        for (int way = 0; way < 2; way++) {
            desk d;
            open_desk(&d, refused[i].l.role, way ? &cpu_backend : &composed, F32);
            ab_t over = d.over;
            if (refused[i].over == OVER_X) over = d.x;
            if (refused[i].over == OVER_BOTH) over = t_matmul(d.c, t_matmul(d.c, d.mem, d.mem, 0, 1), d.mem, 0, 0);
            if (refused[i].over == OVER_BOTH) over = t_binary(d.c, OP_ADD, over, t_slice(d.c, d.x, -2, 0, 1));
            if (refused[i].over == OVER_PADDED) over = host_pad(d.c, over);
            CHECK_INT(layer(d.c, &refused[i].l, over).id, 0);
            CHECK_HAS(d.c->error.text, refused[i].name);
            close_desk(&d);
        }
}

/* ---- whole models ---- */

typedef struct {
    const char *name, *attention, *cross; /* cross: a plugin's file, or NULL */
    int64_t recurrent, conv;              /* number of operations on a loss tape */
} model_case;
static const model_case models[] = {
    {"recurrent", "recurrent", NULL, 4, 0},
    {"lstm", "lstm", NULL, 4, 0},
    {"convolutional", "convolutional", NULL, 0, 3},
    {"cross_layers", "scaled_dot", BUILD_DIR "/sabotage/cross_layers.so", 4, 2},
};

static int open_model(model *m, const model_case *k, const backend *b, dtype compute, err *e)
{
    const char *cross = k->cross ? k->cross : "scaled_dot";
    pairing w = {.attention = {k->attention, k->attention, cross}, .position = "sinusoid"};
    if (k->cross && !plugin_open(AB_ATTENTION, cross, e)) return -1;
    snprintf(w.name, sizeof w.name, "%s", k->name);
    return check_model_open(m, &w, &(model_kind){.compute = compute, .dropout = 0.2, .on = b}, e);
}

/* Runs sentences of different lengths, with a sentence of one token on each side. */
static int run_model(model *m, pass *p, const model_case *k, const backend *b, dtype compute, err *e)
{
    sentences s;
    check_sentences(&s);
    s.src_n[1] = s.tgt_n[2] = 1;
    if (open_model(m, k, b, compute, e)) return -1;
    return pass_open(p, m, &s, true, 2, 0, e) ? -1 : pass_run(p, 5, e);
}

typedef struct {
    model m;
    pass p;
} run;

static void close_run(run *r)
{
    pass_close(&r->p);
    model_free(&r->m);
}

static void compare_gradients(const model_case *k, const params *one, const params *many, double allowed)
{
    double largest = gap_between(many->grad, F32, many->grad, F32, many->total).size;
    CHECK_INT(one->n, many->n);
    for (size_t i = 0; i < one->n; i++) {
        const param *p = &one->p[i], *q = params_find(many, p->name);
        CHECK(q && q->count == p->count);
        if (!q) continue;
        gap g = gap_between((float *)one->grad + p->at, F32, (float *)many->grad + q->at, F32, p->count);
        check_gap(k->name, p->name, g, 0.01 * largest, allowed);
    }
}

/* Norm of the gradients' difference divided by the gradient's norm. */
static double apart(const params *a, const params *b)
{
    const float *x = a->grad, *y = b->grad;
    double sum = 0, size = 0;
    for (size_t i = 0; i < b->total; i++) {
        double d = (double)x[i] - (double)y[i];
        sum += d * d, size += (double)y[i] * (double)y[i];
    }
    return sqrt(sum / size);
}

/* In fp32 compares every gradient. In bf16 compares the whole gradient, as `ablate check` does, since a ReLU's unit may
 * be on in one model and off in the other. */
static void compare_models(const model_case *k)
{
    run one, many, one_bf16, many_bf16;
    err e = {0};
    int bad = run_model(&one.m, &one.p, k, &cpu_backend, F32, &e) ||
              run_model(&many.m, &many.p, k, &composed, F32, &e) ||
              run_model(&one_bf16.m, &one_bf16.p, k, &cpu_backend, BF16, &e) ||
              run_model(&many_bf16.m, &many_bf16.p, k, &composed, BF16, &e);
    CHECK_TEXT(e.text, "");
    if (bad) return;
    CHECK_INT(count_op(one.p.c, OP_RECURRENT), k->recurrent);
    CHECK_INT(count_op(one.p.c, OP_NEIGHBOURS), k->conv);
    CHECK_INT(count_layers(one_bf16.p.c), k->recurrent + k->conv);
    CHECK_INT(count_layers(many.p.c) + count_layers(many_bf16.p.c), 0);
    double a = pass_loss(&one.p), b = pass_loss(&many.p), c = pass_loss(&one_bf16.p), d = pass_loss(&many_bf16.p);
    printf("%s: loss %.9g, composed %.9g, allowed 2e-6; in bf16 %.9g, composed %.9g, allowed 1e-2\n", k->name, a, b, c,
           d);
    CHECK_NEAR(a / b, 1, 2e-6);
    CHECK_NEAR(c / b, 1, 1e-2);
    compare_gradients(k, &one.m.params, &many.m.params, 2e-5);
    double rounded = apart(&one_bf16.m.params, &many.m.params);
    printf("  gradient in bf16 away from fp32: %.2g, composed %.2g, allowed 0.3\n", rounded,
           apart(&many_bf16.m.params, &many.m.params));
    CHECK_NEAR(rounded, 0, 0.3);
    close_run(&one), close_run(&many), close_run(&one_bf16), close_run(&many_bf16);
}

/* In decoding, layers run only over the source, which is complete. */
static void check_steps(const model_case *k)
{
    model m;
    err e = {0};
    model_shape shape = {.batch = 2, .src_rows = 7, .src_time = 4};
    int bad = open_model(&m, k, &cpu_backend, F32, &e);
    CHECK_INT(bad, 0);
    if (bad) return;
    model_step step = {.beam = 2, .capacity = 8, .cache_rows = 4, .seen = 8};
    ab_ctx *c = model_step_tape(&m, &shape, &step, &e);
    CHECK_TEXT(e.text, "");
    CHECK_INT(c ? count_layers(c) : -1, k->cross ? k->recurrent + k->conv : 0);
    tape_free(c);
    model_free(&m);
}

int main(void)
{
    use_plugins();
    open_file(BUILD_DIR "/sabotage/cross_layers.so");
    cpu_threads(1);
    composed = cpu_backend;
    composed.kernels[OP_RECURRENT] = composed.kernels[OP_NEIGHBOURS] = NULL;
    for (size_t i = 0; i < LENGTH(cases); i++) check_layer(&cases[i]);
    check_values();
    check_flops();
    check_composed();
    check_refused();
    for (size_t i = 0; i < LENGTH(models); i++) {
        compare_models(&models[i]);
        check_steps(&models[i]);
    }
    return test_end();
}
