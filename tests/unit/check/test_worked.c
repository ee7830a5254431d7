/* Worked examples: given q, k and v, each attention and positional encoding gives the rows of its formula
 * (tests/oracle/golden/attention.txt, made by PyTorch), and the classic example of five rows comes out to four digits.
 *
 * The plugin gets rows that hold q, k and v side by side, and all its weights are identities: so its own projections
 * give exactly q, k and v. */
#include "services.h"
#include "network/check/block.h"
#include "network/settings/config.h"

enum { B = 2, H = 2, T = 5, D = 4, WIDTH = 3 * H * D };
typedef struct {
    str text;
    char **lines;
    size_t n;
} golden;

/* Returns the numbers of `in NAME ...` or `out NAME ...`, which must have n numbers; the caller frees the array. */
static double *numbers(const golden *g, const char *side, const char *name, int64_t n)
{
    double *v = xcalloc((size_t)n, sizeof *v);
    size_t before = strlen(side) + 1;
    for (size_t i = 0; i < g->n; i++) {
        char *s = g->lines[i];
        if (!has_prefix(s, side) || !has_prefix(s + before, name) || s[before + strlen(name)] != ' ') continue;
        s += before + strlen(name);
        int64_t count = 1, axes = strtoll(s, &s, 10), k = 0;
        for (int64_t a = 0; a < axes; a++) count *= strtoll(s, &s, 10);
        CHECK_INT(count, n);
        for (; k < n && *s; k++) v[k] = strtod(s, &s);
        CHECK_INT(k, n);
        return v;
    }
    printf("no line '%s %s'\n", side, name);
    CHECK(!"the line is there");
    return v;
}

static const void *settings_for(const plugin *p, const char *key, const char *value, arena *a)
{
    settings set = {0};
    err e = {0};
    void *cfg = arena_alloc(a, p->desc.cfg_size + 16);
    if (key) settings_set(&set, arena_printf(a, "%s.%s", p->desc.name, key), value, a);
    if (config_bind(&set, p->desc.name, p->desc.params, cfg, a, &e)) printf("%s\n", e.text);
    CHECK_TEXT(e.text, "");
    return cfg;
}

static double *weights(block *b, const char *name)
{
    param *p = params_find(&b->values, name);
    if (!p) printf("no parameter '%s'\n", name);
    CHECK(p != NULL);
    return p ? (double *)b->values.value + p->at : NULL;
}

/* Sets the matrix `value` [rows,columns]: value[i][i % columns] = 1 for every row i below n, 0 elsewhere. */
static void identity(block *b, const char *name, int64_t rows, int64_t columns)
{
    double *w = weights(b, name);
    for (int64_t i = 0; w && i < rows; i++)
        for (int64_t j = 0; j < columns; j++) w[i * columns + j] = i == j;
}
static void fill(block *b, const char *name, const double *from, size_t n)
{
    double *w = weights(b, name);
    if (w) memcpy(w, from, n * sizeof *w);
}

/* Writes v [B,H,T,d] into the columns from `first` on of rows. */
static void put_heads(double *rows, const double *v, int64_t first, int64_t width)
{
    for (int64_t s = 0; s < B; s++)
        for (int64_t h = 0; h < H; h++)
            for (int64_t t = 0; t < T; t++)
                for (int64_t j = 0; j < D; j++)
                    rows[(s * T + t) * width + first + h * D + j] = v[((s * H + h) * T + t) * D + j];
}

static void own_parameters(block *b, const golden *g, const char *attention, const char *position)
{
    double *w = numbers(g, "in", "w", H * D), *rel_k = numbers(g, "in", "rel_k", 5 * D),
           *rel_v = numbers(g, "in", "rel_v", 5 * D);
    if (same(attention, "additive")) {
        for (int part = 0; part < 2; part++) {
            double *m = weights(b, part ? "wk" : "wq");
            for (int64_t i = 0; m && i < H * D * D; i++) m[i] = i / D % D == i % D;
        }
        fill(b, "score", w, H * D);
    }
    if (same(position, "shaw")) fill(b, "rel_k", rel_k, 5 * D), fill(b, "rel_v", rel_v, 5 * D);
    free(w);
    free(rel_k);
    free(rel_v);
}

static void compare(const golden *g, const block *b, const char *name)
{
    double *expected = numbers(g, "out", name, B * H * T * D), *found = xcalloc(B * T * WIDTH, sizeof *found);
    put_heads(found, expected, 0, WIDTH);
    for (int64_t r = 0; r < B * T; r++)
        for (int64_t j = 0; j < H * D; j++) CHECK_NEAR(b->y[r * WIDTH + j], found[r * WIDTH + j], 2e-8);
    free(expected);
    free(found);
}

static void check_form(const golden *g, const char *name, const char *attention, const char *position,
                       const char *const setting[2], uint32_t role)
{
    err e = {0};
    arena a = {0};
    const plugin *pa = plugin_find(AB_ATTENTION, attention, &e), *pp = plugin_find(AB_POSITION, position, &e);
    CHECK_TEXT(e.text, "");
    if (!pa || !pp) return;
    /* the plugin to which the setting with a non-default value belongs */
    const plugin *owner = same(position, "none") ? pa : pp;
    block_spec s = {pa,
                    pp,
                    settings_for(pa, owner == pa ? setting[0] : NULL, setting[1], &a),
                    settings_for(pp, owner == pp ? setting[0] : NULL, setting[1], &a),
                    role,
                    H,
                    D,
                    D,
                    WIDTH,
                    B,
                    T,
                    NULL,
                    false,
                    0};
    block b;
    if (block_trace(&b, &s, &e) || block_plan(&b, 1, &e)) {
        printf("%s: %s\n", name, e.text);
        CHECK(!"the call is traced");
        return;
    }
    memset(b.values.value, 0, b.values.total * sizeof(double));
    identity(&b, "qkv.w", WIDTH, WIDTH);
    identity(&b, "o.w", H * D, WIDTH);
    own_parameters(&b, g, attention, position);
    static const char *const parts[] = {"q", "k", "v"};
    for (int k = 0; k < 3; k++) {
        double *v = numbers(g, "in", parts[k], B * H * T * D);
        put_heads(b.x, v, k * H * D, WIDTH);
        free(v);
    }
    CHECK_INT(block_run(&b, &e), 0);
    char full[64];
    snprintf(full, sizeof full, "%s_%s", name, role == AB_CAUSAL ? "causal" : "full");
    int failed = test_failed;
    compare(g, &b, full);
    printf("%-22s %s\n", full, test_failed == failed ? "as expected" : "differs");
    block_close(&b);
    arena_free(&a);
}

/* ---- hooks alone ---- */

static ab_t range(ab_ctx *c, int64_t n)
{
    int32_t v[T];
    for (int32_t i = 0; i < n; i++) v[i] = i;
    return t_ids(c, n, v);
}

static void check_hook(const golden *g, const char *name, const char *position)
{
    err e = {0};
    arena a = {0};
    params none = {0};
    const plugin *p = plugin_find(AB_POSITION, position, &e);
    const void *cfg = settings_for(p, NULL, NULL, &a);
    ab_ctx *c = tape_new(&none, &cpu_backend, F64, false);
    attn_context k = {.info = {.heads = H, .d_k = D, .d_v = D, .d_model = WIDTH}};
    ab_t pos = range(c, T), y;
    c->attn = &k;
    c->hook = p->iface.position.rotate ? AB_IN_ROTATE : AB_IN_BIAS;
    double *q = numbers(g, "in", "q", B * H * T * D);
    y = p->iface.position.rotate ? p->iface.position.rotate(c, cfg, t_const(c, (int64_t[4]){B, H, T, D}, q), pos)
                                 : p->iface.position.bias(c, cfg, pos, pos);
    t_keep(c, y, "y");
    CHECK_INT(tape_plan(c, NULL, NULL), 0);
    CHECK_INT(tape_run(c, &(run_options){.from = PHASE_CONST}), 0);
    const node *v = tape_at(c, y);
    double *expected = numbers(g, "out", name, node_count(v));
    /* the paper defines no bias for keys after the query: there the plugin uses the distance, the golden numbers its
     * negative */
    for (int64_t i = 0; i < node_count(v); i++)
        CHECK_NEAR(((const double *)v->data)[i], p->iface.position.bias ? -fabs(expected[i]) : expected[i], 2e-8);
    tape_free(c);
    free(expected);
    free(q);
    arena_free(&a);
}

/* ---- Q = K = V = (1,2) (3,4) (5,6) (7,8) (9,10) ---- */

static void check_rows(void)
{
    static const double figures[5][2] = {{8.9708, 9.9708}, {8.9999, 9.9999}, {9, 10}, {9, 10}, {9, 10}};
    static const double first[5] = {4.2023e-08, 2.9245e-06, 2.0352e-04, 1.4163e-02, 9.8563e-01};
    err e = {0};
    arena a = {0};
    const plugin *p = plugin_find(AB_ATTENTION, "scaled_dot", &e);
    for (int with_weights = 0; with_weights < 2;
         with_weights++) { /* values: the rows, or unit vectors, for which the output is the weights */
        int64_t d_v = with_weights ? 5 : 2, width = 4 + d_v;
        block_spec s = {p,     NULL, settings_for(p, NULL, NULL, &a), NULL, AB_SELF, 1, 2, d_v, width, 1, 5, NULL,
                        false, 0};
        block b;
        CHECK_INT(block_trace(&b, &s, &e) || block_plan(&b, 1, &e), 0);
        memset(b.values.value, 0, b.values.total * sizeof(double));
        identity(&b, "qkv.w", width, width);
        identity(&b, "o.w", d_v, width);
        for (int64_t t = 0; t < 5; t++)
            for (int64_t j = 0; j < width; j++)
                b.x[t * width + j] = j >= 4 && with_weights ? j - 4 == t : (double)(2 * t + 1 + j % 2);
        CHECK_INT(block_run(&b, &e), 0);
        for (int64_t t = 0; t < 5 && !with_weights; t++)
            for (int64_t j = 0; j < 2; j++) CHECK_NEAR(b.y[t * width + j], figures[t][j], 5e-5);
        for (int64_t j = 0; j < 5 && with_weights; j++) CHECK_NEAR(b.y[j] / first[j], 1, 5e-5);
        block_close(&b);
    }
    arena_free(&a);
}

/* ---- gaussian_window: weights that depend on the keys' positions only (Graves 2013, eq. 46 to 51) ---- */

static void check_window(double most)
{
    enum { WIDE = 1 + T };
    const double step = 0.7, width = 1.5, x[T] = {0.3, -2, 1.1, 4, -0.5};
    settings set = {0};
    err e = {0};
    arena a = {0};
    const plugin *p = plugin_find(AB_ATTENTION, "gaussian_window", &e);
    void *cfg = arena_alloc(&a, p->desc.cfg_size + 16);
    settings_set(&set, "gaussian_window.step", "0.7", &a);
    settings_set(&set, "gaussian_window.width", "1.5", &a);
    settings_set(&set, "gaussian_window.most", arena_printf(&a, "%g", most), &a);
    settings_set(&set, "gaussian_window.offset", most > 0 ? "true" : "false", &a);
    CHECK_INT(config_bind(&set, "gaussian_window", p->desc.params, cfg, &a, &e), 0);
    block_spec s = {p, NULL, cfg, NULL, AB_CROSS, 1, 1, T, WIDE, 1, T, NULL, false, 0};
    block b;
    CHECK_INT(block_trace(&b, &s, &e) || block_plan(&b, 1, &e), 0);
    memset(b.values.value, 0, b.values.total * sizeof(double));
    double *kv = weights(&b, "kv.w"), *o = weights(&b, "o.w"), *moves = weights(&b, "step.w"),
           *narrow = weights(&b, "narrow.w");
    moves[0] = 1, narrow[0] = 0.5;
    if (most > 0) *weights(&b, "offset.w") = 0.25;
    for (int j = 0; j < T; j++)
        kv[(1 + j) * WIDE + 1 + j] = o[j * WIDE + j] = b.mem[j * WIDE + 1 + j] = 1; /* values: unit vectors */
    for (int t = 0; t < T; t++) b.x[t * WIDE] = x[t];
    CHECK_INT(block_run(&b, &e), 0);
    double centre = 0;
    for (int t = 0; t < T; t++) {
        double weight[T], sum = 0;
        centre += most > 0 ? most / (1 + exp(-x[t]) * (most - step) / step) : log1p(exp(x[t] + log(expm1(step))));
        double beta = log1p(exp(0.5 * x[t] + log(expm1(1 / (2 * width * width)))));
        double place = centre + (most > 0 ? 0.25 * x[t] : 0);
        for (int j = 0; j < T; j++) sum += weight[j] = exp(-beta * (place - j) * (place - j));
        for (int j = 0; j < T; j++) CHECK_NEAR(b.y[t * WIDE + j], weight[j] / sum, 1e-12);
    }
    block_close(&b);
    arena_free(&a);
}

int main(void)
{
    static const struct {
        const char *name, *attention, *position, *setting[2];
    } forms[] = {
        {"scaled_dot", "scaled_dot", "none", {0}},     {"dot", "dot", "none", {0}},
        {"rotary", "scaled_dot", "rotary", {0}},       {"alibi", "scaled_dot", "alibi", {0}},
        {"shaw", "scaled_dot", "shaw", {"clip", "2"}}, {"additive", "additive", "none", {"hidden", "4"}},
        {"linear", "linear", "none", {"eps", "0"}},    {"restricted", "restricted", "none", {"r", "1"}},
    };
    golden g = {0};
    err e = {0};
    use_plugins();
    if (file_lines(SOURCE_DIR "/tests/oracle/golden/attention.txt", &g.text, &g.lines, &g.n, &e)) {
        printf("%s\n", e.text);
        return 1;
    }
    for (size_t i = 0; i < LENGTH(forms); i++) {
        check_form(&g, forms[i].name, forms[i].attention, forms[i].position, forms[i].setting, AB_CAUSAL);
        if (!same(forms[i].position, "alibi")) /* see check_hook */
            check_form(&g, forms[i].name, forms[i].attention, forms[i].position, forms[i].setting, AB_SELF);
    }
    check_hook(&g, "rotary_q", "rotary");
    check_hook(&g, "alibi_bias", "alibi");
    check_rows();
    check_window(0);
    check_window(1);
    free(g.lines);
    str_free(&g.text);
    return test_end();
}
