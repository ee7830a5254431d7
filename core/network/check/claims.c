/* claims.c - checks what a plugin's description claims: positions are relative; an attention's positions reach its
 * outputs; parameters accept every value in their range. */
#include "network/check/block.h"
#include "network/check/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The plugin's default settings with one parameter changed (key NULL: no change). Returns NULL and e on failure. */
static void *settings_of(const plugin *p, const char *key, const char *value, arena *a, err *e)
{
    settings set = {0};
    check_add_settings(&set, a);
    if (key) settings_set(&set, arena_printf(a, "%s.%s", p->desc.name, key), value, a);
    return model_bind_plugin(a, &set, p, e);
}

/* ---- relative positions ---- */

enum { SHIFT = 7 };

static void shift(int32_t *pos, int64_t n)
{
    for (int64_t i = 0; pos && i < n; i++) pos[i] += SHIFT;
}

static void shifted(const plugin *p, uint32_t role, const char *role_name, check_result *r)
{
    static const int32_t length[] = {6, 4};
    err e = {0};
    CLEANUP(arena_free) arena a = {0};
    const plugin *usual = plugin_find(AB_ATTENTION, "scaled_dot", &e);
    block_spec s = {usual, p, NULL, NULL, role, 3, 4, 6, 12, 2, 6, length, false, 0};
    CLEANUP(block_close) block b = {0};
    if (usual)
        s.attention_cfg = settings_of(usual, NULL, NULL, &a, &e), s.position_cfg = settings_of(p, NULL, NULL, &a, &e);
    if (e.text[0] || block_trace(&b, &s, &e) || block_plan(&b, 3, &e)) goto out;
    for (int64_t i = 0; i < b.rows * s.d_model; i++) b.x[i] = check_hashed(9, (uint64_t)i);
    if (block_run(&b, &e)) goto out;
    size_t n = (size_t)(b.rows * s.d_model);
    double *before = xmalloc(n * sizeof *before), moved = 0;
    memcpy(before, b.y, n * sizeof *before);
    shift(b.qpos, s.time), shift(b.kpos, s.time), shift(b.rows_pos, b.rows);
    if (!block_run(&b, &e)) {
        for (size_t i = 0; i < n; i++) moved = check_larger(moved, fabs(b.y[i] - before[i]));
        if (check_beyond(r, moved))
            check_fail(r,
                       "%s: it claims AB_RELATIVE, but shifting every position by %d changes the output by %.2g; "
                       "remove the claim or use only differences of positions",
                       role_name, SHIFT, moved);
    }
    free(before);
out:
    if (e.text[0]) check_fail(r, "%s: %s", role_name, e.text);
}

void check_relative(const plugin *p, check_result *r)
{
    if (!(p->iface.position.claims & AB_RELATIVE)) {
        check_none(r, "it does not claim AB_RELATIVE");
        return;
    }
    shifted(p, AB_SELF, "self attention", r);
    shifted(p, AB_CAUSAL, "causal self attention", r);
}

/* ---- positions reach an attention's outputs ---- */

/* x plus numbers that depend on the indices along its last two axes. */
static ab_t moved(ab_ctx *c, ab_t x)
{
    if (!x.id) return x;
    const int64_t dim[4] = {1, 1, tape_at(c, x)->dim[2], tape_at(c, x)->dim[3]};
    AUTOFREE double *v = xmalloc((size_t)(dim[2] * dim[3]) * sizeof *v);
    for (int64_t i = 0; i < dim[2] * dim[3]; i++) v[i] = check_hashed(11, (uint64_t)i);
    return t_binary(c, OP_ADD, x, t_const(c, dim, v));
}
static ab_t move_rows(ab_ctx *c, const void *cfg, ab_t x, ab_t pos) { return (void)cfg, (void)pos, moved(c, x); }
static ab_t move_bias(ab_ctx *c, const void *cfg, ab_t qpos, ab_t kpos)
{
    int64_t dim[4] = {1, c->attn->info.heads, tape_at(c, qpos)->dim[3], tape_at(c, kpos)->dim[3]};
    return (void)cfg, moved(c, t_broadcast_to(c, t_const(c, (int64_t[4]){1, 1, 1, 1}, (double[]){0}), dim));
}
static ab_t move_scores(ab_ctx *c, const void *cfg, ab_t s, ab_t q, ab_t k, ab_t qpos, ab_t kpos)
{
    return (void)cfg, (void)q, (void)k, (void)qpos, (void)kpos, moved(c, s);
}
static ab_t move_values(ab_ctx *c, const void *cfg, ab_t y, ab_t p, ab_t qpos, ab_t kpos)
{
    return (void)cfg, (void)p, (void)qpos, (void)kpos, moved(c, y);
}

static const struct {
    uint32_t claim;
    const char *name, *advice;
    plugin position;
} probes[] = {
    {AB_POS_EMBED, "AB_POS_EMBED", "use x", {.iface.position.embed = move_rows}},
    {AB_POS_ROTATE,
     "AB_POS_ROTATE",
     "call ab_query and ab_key, which rotate, or ab_rotate on your own projections",
     {.iface.position.rotate = move_rows}},
    {AB_POS_BIAS,
     "AB_POS_BIAS",
     "call ab_scores, which adds the bias, or ab_position on your own scores",
     {.iface.position.bias = move_bias}},
    {AB_POS_SCORES,
     "AB_POS_SCORES",
     "call ab_scores, which adds the position's scores, or ab_position on your own scores",
     {.iface.position.scores = move_scores}},
    {AB_POS_VALUES, "AB_POS_VALUES", "call ab_weighted_sum, which adds values", {.iface.position.values = move_values}},
};

/* The attention's output rows with this position (NULL: no position) and perturbed parameters; the caller frees.
 * Returns NULL and e on failure. */
static double *rows_with(const plugin *p, const plugin *position, uint32_t role, size_t *n, err *e)
{
    static const int32_t length[] = {6, 4};
    CLEANUP(arena_free) arena a = {0};
    CLEANUP(block_close) block b = {0};
    double *out = NULL;
    void *cfg = settings_of(p, NULL, NULL, &a, e);
    block_spec s = {p, position, cfg, NULL, role, 3, 4, 6, 12, 2, 6, length, false, 0};
    if (cfg && !block_trace(&b, &s, e) && !block_plan(&b, 3, e)) {
        double *v = b.values.value;
        for (size_t i = 0; i < b.values.learned; i++) v[i] += 0.3 * check_hashed(8, i);
        *n = (size_t)(b.rows * s.d_model);
        for (size_t i = 0; i < *n && b.x; i++) b.x[i] = check_hashed(9, i);
        if (!block_run(&b, e)) out = memcpy(xmalloc(*n * sizeof *out), b.y, *n * sizeof *out);
    }
    return out;
}

static void positions_in(const plugin *p, uint32_t role, size_t *claimed, check_result *r)
{
    err e = {0};
    size_t n = 0;
    AUTOFREE double *none = p->iface.attention.roles & role ? rows_with(p, NULL, role, &n, &e) : NULL;
    for (size_t k = 0; k < LENGTH(probes) && none; k++) {
        if (!(p->iface.attention.accepts & probes[k].claim)) continue;
        double *with = rows_with(p, &probes[k].position, role, &n, &e), most = 0;
        for (size_t i = 0; i < n && with; i++) most = check_larger(most, fabs(with[i] - none[i]));
        if (with && !(most > 1e-9))
            check_fail(r,
                       "%s: .accepts claims %s, but in a%s such a position changes no output: runs with and without it "
                       "would be equal. %s; or leave the claim out",
                       p->desc.name, probes[k].name, role == AB_SELF ? "n encoder" : " decoder", probes[k].advice);
        free(with);
        ++*claimed;
    }
    if (e.text[0]) check_none(r, "%s", e.text); /* check 'build' reports faults; only layers run other plugins */
}

void check_positions(const plugin *p, check_result *r)
{
    size_t claimed = 0;
    positions_in(p, AB_SELF, &claimed, r);
    positions_in(p, AB_CAUSAL, &claimed, r);
    if (!(p->iface.attention.roles & (AB_SELF | AB_CAUSAL))) check_none(r, "positions act in self-attention only");
    check_note(r, "%zu positions of encoder and decoder change its outputs", claimed);
}

/* ---- parameters at their limits ---- */

static int trace_attention(const plugin *a, const plugin *pos, const void *a_cfg, const void *pos_cfg, err *e)
{
    for (uint32_t role = AB_SELF; role <= AB_CROSS; role <<= 1) {
        if (!(a->iface.attention.roles & role)) continue;
        block_spec s = {a, pos, a_cfg, pos_cfg, role, 2, 4, 4, 8, 2, 3, NULL, false, 0};
        block b;
        if (block_trace(&b, &s, e)) return -1;
        block_close(&b);
    }
    return 0;
}

static int trace_model(const plugin *p, const char *key, const char *value, arena *a, err *e)
{
    check_result r = {0};
    pairing one;
    if (!check_first_pairing(p, &one, &r)) return fail(e, "%s", r.message);
    if (key) one.key = arena_printf(a, "%s.%s", p->desc.name, key), one.value = value;
    CLEANUP(model_free) model m;
    return check_model_open(&m, &one, &(model_kind){.compute = F64}, e);
}

static int trace_with(const plugin *p, const char *key, const char *value, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    void *cfg = settings_of(p, key, value, &a, e);
    if (!cfg) return -1;
    if (p->desc.kind == AB_OPTIMIZER) return check_trace_update(p, cfg, e);
    if (p->desc.kind == AB_SCHEDULE) return check_some_rates(p, cfg, e);
    if (p->desc.kind == AB_ATTENTION) return trace_attention(p, NULL, cfg, NULL, e);
    if (p->desc.kind != AB_POSITION) return trace_model(p, key, value, &a, e);
    const plugin *usual = plugin_find(AB_ATTENTION, "scaled_dot", e);
    void *usual_cfg = settings_of(usual, NULL, NULL, &a, e);
    return usual_cfg ? trace_attention(usual, p, usual_cfg, cfg, e) : -1;
}

static void try_value(const plugin *p, const ab_option *q, const char *value, check_result *r)
{
    err e = {0};
    if (trace_with(p, q->name, value, &e))
        check_fail(r, "%s = %s is in its declared range, but: %s", q->name, value, e.text);
}

static void try_choices(const plugin *p, const ab_option *q, check_result *r)
{
    char *choices = xstrdup(q->choices), *save = NULL;
    for (char *w = strtok_r(choices, "|", &save); w; w = strtok_r(NULL, "|", &save)) try_value(p, q, w, r);
    free(choices);
}

void check_parameters(const plugin *p, check_result *r)
{
    size_t n = 0;
    char text[32];
    err e = {0};
    if (trace_with(p, NULL, NULL, &e)) check_none(r, "%s", e.text); /* the check 'build' reports this fault */
    if (e.text[0] && (p->desc.kind == AB_OPTIMIZER || p->desc.kind == AB_SCHEDULE)) check_fail(r, "%s", e.text);
    for (const ab_option *q = p->desc.params; q && q->name && r->outcome == CHECK_OK; q++, n++) {
        if (q->type == AB_INT || q->type == AB_REAL) {
            try_value(p, q, format_real(q->min, text), r);
            try_value(p, q, format_real(q->max, text), r);
        } else if (q->type == AB_BOOL) {
            try_value(p, q, "false", r);
            try_value(p, q, "true", r);
        } else if (q->type == AB_CHOICE) {
            try_choices(p, q, r);
        }
    }
    check_note(r, "%zu parameters, each at both ends of its range", n);
}
