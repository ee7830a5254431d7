/* fixtures.c - builds the checks' fixtures around a plugin: pairings, small models, batches, passes. */
#include "network/check/internal.h"
#include <math.h>
#include <malloc.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__ /* this sanitizer replaces the allocator */
size_t __sanitizer_get_current_allocated_bytes(void);
size_t check_memory_in_use(void) { return __sanitizer_get_current_allocated_bytes(); }
#else
size_t check_memory_in_use(void)
{
#if __GLIBC_PREREQ(2, 33)
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
#else /* bytes modulo 2^32: callers use only differences */
    struct mallinfo m = mallinfo();
    return (unsigned)m.uordblks + (unsigned)m.hblkhd;
#endif
}
#endif

/* ---- pairings ---- */

static void fill_places(pairing *w, const plugin *attention, const plugin *usual, const plugin *position)
{
    for (int r = 0; r < ROLES; r++)
        w->attention[r] = attention->iface.attention.roles & role_bits[r] ? attention->path : usual->path;
#define USUAL(NAME, name, number, usual, ...) w->name = usual;
    AB_MODEL_KINDS(USUAL)
    w->position = position->path;
    w->key = w->value = NULL;
    snprintf(w->name, sizeof w->name, "%s with %s", attention->desc.name, position->desc.name);
}

/* Pairs a plugin that is no attention or position with the usual plugins, and a block with no feed-forward, too. */
static size_t fill_parts(pairing w[2], const plugin *p, const plugin *usual, const plugin *position)
{
    fill_places(&w[0], usual, usual, position);
    snprintf(w[0].name, sizeof w[0].name, "%s", p->desc.name);
#define PUT(NAME, name, ...)                                                                                           \
    if (p->desc.kind == AB_##NAME) w[0].name = p->path;
    AB_MODEL_KINDS(PUT)
    if (p->desc.kind != AB_BLOCK) return 1;
    w[1] = w[0];
    w[1].feed_forward = "none";
    snprintf(w[1].name, sizeof w[1].name, "%s without a feed-forward", p->desc.name);
    return 2;
}

size_t check_pairings(const plugin *p, pairing **out, check_result *r)
{
    size_t n_list, n = 0;
    err e = {0};
    const plugin *const *list = plugin_list(&n_list), *usual = plugin_find(AB_ATTENTION, "scaled_dot", &e),
                        *position = plugin_find(AB_POSITION, "sinusoid", &e);
    pairing *w = *out = xcalloc(n_list + 2, sizeof *w);
    if (!usual || !position) {
        check_fail(r, "%s", e.text);
    } else if (p->desc.kind == AB_POSITION) {
        fill_places(&w[n++], usual, usual, p);
    } else if (p->desc.kind != AB_ATTENTION) {
        n = fill_parts(w, p, usual, position);
    } else {
        for (size_t i = 0; i < n_list; i++)
            if (list[i]->desc.kind == AB_POSITION && !position_missing(list[i], p))
                fill_places(&w[n++], p, usual, list[i]);
        if (!n) check_fail(r, "no available position plugin fits it");
    }
    for (size_t i = 0; i < n; i++) w[i].claims = p->desc.claims;
    return n;
}

bool check_first_pairing(const plugin *p, pairing *one, check_result *r)
{
    AUTOFREE pairing *w = NULL;
    bool any = check_pairings(p, &w, r) > 0;
    *one = w[0];
    return any;
}

void check_each_pairing(const plugin *p, check_result *r, pairing_check *f)
{
    AUTOFREE pairing *w = NULL;
    size_t n = check_pairings(p, &w, r);
    if (n > check_given.most_pairings) n = check_given.most_pairings;
    for (size_t i = 0; i < n && r->outcome != CHECK_FAIL; i++) f(&w[i], r);
    if (r->outcome == CHECK_OK && !r->message[0] && p->desc.kind == AB_ATTENTION)
        check_note(r, "with %zu positional encodings", n);
}

/* ---- models ---- */

double check_hashed(uint64_t place, uint64_t i)
{
    uint64_t z = (place * 1000003 + i) * 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (double)((z ^ z >> 31) >> 40) / 8388608.0 - 1;
}

int32_t check_token(uint64_t place, uint64_t i)
{
    return VOCAB_SPECIALS + (int32_t)((check_hashed(place, i) + 1) / 2 * (CHECK_VOCAB - VOCAB_SPECIALS));
}

/* Perturbs biases and gains, multiplies all values by `spread` and rounds them to fp32. Buffers stay as they are,
 * because only the plugin knows their valid values. */
static void stir(params *s, double spread)
{
    err e = {0};
    void *values = params_host(s, 0, &e);
    if (!values) broken("%s", e.text);
    for (size_t k = 0; k < s->n; k++)
        for (size_t j = 0; j < s->p[k].count && !s->p[k].buffer; j++) {
            size_t at = s->p[k].at + j;
            double x = number_at(values, s->type, at);
            if (s->p[k].scale == 0) x += 0.3 * check_hashed(k + 1, j);
            x *= spread;
            if (s->type == F64)
                ((double *)values)[at] = (float)x;
            else
                ((float *)values)[at] = (float)x;
        }
    params_host_done(s, 0, values, true);
}

int check_model_open(model *m, const pairing *w, const model_kind *k, err *e)
{
    settings set = {0};
    CLEANUP(arena_free) arena a = {0};
    char drop[32];
    format_real(k->dropout, drop);
    char *layers = k->layers ? arena_printf(&a, "%d", k->layers) : NULL;
#define KIND(NAME, name, ...) {#name, w->name},
    const char *const pairs[][2] = {{"attention_encoder", w->attention[ROLE_ENCODER]},
                                    {"attention_decoder", w->attention[ROLE_DECODER]},
                                    {"attention_cross", w->attention[ROLE_CROSS]},
                                    AB_MODEL_KINDS(KIND) /* every other kind: its key, and the plugin's path or name */
                                    {"layers_encoder", layers ? layers : "1"},
                                    {"layers_decoder", layers ? layers : "2"},
                                    {"d_model", k->width ? arena_printf(&a, "%d", k->width) : "12"},
                                    {"d_ff", "16"},
                                    {"heads", k->heads ? arena_printf(&a, "%d", k->heads) : "3"},
                                    {"d_k", k->square ? "6" : "4"},
                                    {"d_v", "6"},
                                    {"share_embeddings", "target"},
                                    {"dropout", drop},
                                    {"attention_dropout", drop},
                                    {"activation_dropout", drop},
                                    {"teacher", TEACHER_MADE_UP},
                                    {"seed", "7"}};
    for (size_t i = 0; i < LENGTH(pairs); i++)
        if (pairs[i][1]) settings_set(&set, pairs[i][0], pairs[i][1], &a);
    if (w->key) settings_set(&set, w->key, w->value, &a);
    check_add_settings(&set, &a);
    if (model_open(m, &set, CHECK_VOCAB, CHECK_VOCAB, k->compute, k->on ? k->on : &cpu_backend, e))
        return fail_in(e, "%s: ", w->name);
    m->generic = k->generic;
    stir(&m->params, k->spread > 0 ? k->spread : 1);
    return 0;
}

bool check_has_model(model *m, const pairing *w, const model_kind *k, check_result *r)
{
    err e = {0};
    if (!check_model_open(m, w, k, &e)) return true;
    check_fail(r, "%s", e.text);
    return false;
}

/* ---- sentences ---- */

void check_sentences(sentences *s)
{
    static const int32_t src[] = {5, 3, 7, 7}, tgt[] = {6, 8, 3, 6};
    *s = (sentences){.n = LENGTH(src)};
    for (int64_t i = 0; i < s->n; i++) {
        s->src_n[i] = src[i], s->tgt_n[i] = tgt[i];
        for (int32_t j = 0; j < 512; j++) {
            s->src[i][j] = check_token(101, (uint64_t)(i * 256 + j));
            s->tgt[i][j] = check_token(102, (uint64_t)(i * 256 + j));
        }
        s->src[i][src[i] - 1] = s->tgt[i][tgt[i] - 1] = VOCAB_EOS;
    }
}

void check_one(const sentences *from, int64_t i, sentences *to)
{
    *to = (sentences){.n = 1, .src_n = {from->src_n[i]}, .tgt_n = {from->tgt_n[i]}};
    memcpy(to->src[0], from->src[i], sizeof to->src[0]);
    memcpy(to->tgt[0], from->tgt[i], sizeof to->tgt[0]);
}

void check_change_from(sentences *s, int32_t first)
{
    for (int64_t i = 0; i < s->n; i++)
        for (int32_t j = first; j < s->tgt_n[i]; j++)
            s->tgt[i][j] = VOCAB_SPECIALS + (s->tgt[i][j] + 3) % (CHECK_VOCAB - VOCAB_SPECIALS);
}

static void pack(const sentences *s, int64_t more_rows, int64_t more_time, packed *p)
{
    int64_t src = 0, tgt = 0, src_longest = 0, tgt_longest = 0;
    memset(p, 0, sizeof *p);
    for (int64_t i = 0; i < s->n; i++) {
        for (int32_t j = 0; j < s->src_n[i]; j++, src++) p->src[src] = s->src[i][j], p->src_pos[src] = j;
        for (int32_t j = 0; j < s->tgt_n[i]; j++, tgt++) {
            p->in[tgt] = j ? s->tgt[i][j - 1] : VOCAB_BOS;
            p->out[tgt] = s->tgt[i][j];
            p->pos[tgt] = j;
        }
        p->src_off[i + 1] = (int32_t)src, p->off[i + 1] = (int32_t)tgt;
        if (s->src_n[i] > src_longest) src_longest = s->src_n[i];
        if (s->tgt_n[i] > tgt_longest) tgt_longest = s->tgt_n[i];
    }
    for (int64_t i = 0; i < more_rows; i++) p->out[tgt + i] = -1;
    p->real_rows = tgt;
    p->b = (model_batch){{s->n, src + more_rows, tgt + more_rows, src_longest + more_time, tgt_longest + more_time},
                         p->src,
                         p->src_pos,
                         p->src_off,
                         p->in,
                         p->out,
                         p->pos,
                         p->off};
}

/* ---- passes ---- */

int pass_trace(pass *p, model *m, const sentences *s, bool training, int64_t more_rows, int64_t more_time, err *e)
{
    pack(s, more_rows, more_time, &p->p);
    p->m = m;
    p->c = model_loss_tape(m, &p->p.b.shape, training, e);
    return p->c ? 0 : -1;
}

int pass_plan(pass *p, err *e)
{
    if (tape_plan(p->c, NULL, NULL)) {
        fail(e, "%s", p->c->error.text);
        pass_close(p);
        return -1;
    }
    model_loss_inputs(p->c, &p->p.b, 1);
    return 0;
}

int pass_open(pass *p, model *m, const sentences *s, bool training, int64_t more_rows, int64_t more_time, err *e)
{
    return pass_trace(p, m, s, training, more_rows, more_time, e) ? -1 : pass_plan(p, e);
}

void pass_fill(pass *p, const sentences *s)
{
    model_shape shape = p->p.b.shape;
    pack(s, shape.tgt_rows - p->p.real_rows, 0, &p->p);
    p->p.b.shape = shape;
    model_loss_inputs(p->c, &p->p.b, 1);
}

void pass_close(pass *p)
{
    tape_free(p->c);
    p->c = NULL;
}

int pass_run(pass *p, uint64_t seed, err *e)
{
    run_options o = {.seed = seed, .step = 1, .from = PHASE_CONST};
    return tape_run(p->c, &o) ? fail(e, "%s", p->c->error.text) : 0;
}

/* Number i of a kept value; 0 if the tape has no such value, NaN if it cannot be read. */
static double kept_number(const pass *p, const char *name, int64_t i)
{
    const node *v = &p->c->v[tape_find(p->c, name).id];
    double number; /* large enough for a number of either type */
    err e = {0};
    if (v->op == OP_NONE) return 0;
    const char *at = (const char *)v->data + (size_t)i * dtype_size(v->type);
    return backend_read(p->c->backend, &number, at, dtype_size(v->type), &e) ? NAN : number_at(&number, v->type, 0);
}

double pass_row(const pass *p, int64_t row) { return kept_number(p, "losses", 2 * row); }

double pass_loss(const pass *p)
{
    double sum = kept_number(p, "auxiliary", 0); /* the losses that plugins add in training */
    for (int64_t i = 0; i < p->p.real_rows; i++) sum += pass_row(p, i);
    return sum;
}
