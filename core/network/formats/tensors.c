/* tensors.c - a model's learned values under another program's names and in its layout. */
#include "network/formats/format.h"
#include "base/cleanup.h"
#include <math.h>

int tensors_gather(exporting *x, err *e);

/* A projection: all columns of a matrix, or the q, k or v columns of a joined matrix. */
typedef struct {
    const param *w, *b; /* weights; bias, or NULL */
    int64_t first, width;
    double scale; /* factor on the weights and bias */
} part;

static const param *find(exporting *x, const char *name, const char *suffix)
{
    AUTOFREE char *whole = xprintf("%s%s", name, suffix);
    const param *p = params_find(&x->m->params, whole);
    if (p) x->used[p - x->m->params.p] = true;
    return p;
}

/* Finds "dec.0.self.k": a matrix of its own, or columns of "dec.0.self.qkv" or "dec.0.self.kv". */
static bool find_part(exporting *x, const char *name, part *out)
{
    static const char *const joined[] = {"qkv", "kv"};
    const char *last = strrchr(name, '.') + 1;
    int role = has_prefix(name, "enc.") ? ROLE_ENCODER : strstr(name, ".cross.") ? ROLE_CROSS : ROLE_DECODER;
    *out = (part){.w = find(x, name, ".w"), .scale = same(last, "q") ? x->query_scale[role] : 1};
    if (out->w) {
        out->b = find(x, name, ".b");
        out->width = out->w->dim[3];
        return true;
    }
    for (size_t i = 0; i < LENGTH(joined) && strlen(last) == 1; i++) {
        const char *at = strchr(joined[i], *last);
        AUTOFREE char *whole = xprintf("%.*s%s", (int)(last - name), name, joined[i]);
        if (at) out->w = find(x, whole, ".w"), out->b = out->w ? find(x, whole, ".b") : NULL;
        if (!out->w) continue;
        for (const char *p = joined[i]; p < at; p++) out->first += out->w->part[p - joined[i]];
        out->width = out->w->part[at - joined[i]];
        return true;
    }
    return false;
}

/* ---- layouts ---- */

static int64_t column(const exporting *x, int64_t i) { return x->order ? x->order[i] : i; }

/* Our output column for the format's column i. The two differ in rotated heads and in the residual stream. */
static int64_t output_of(const exporting *x, const char *last, int64_t i)
{
    int64_t d = x->m->cfg.d_k;
    if (x->format->rotary_pairs && (same(last, "q") || same(last, "k"))) return i / d * d + i % d / 2 + i % 2 * (d / 2);
    return same(last, "o") || same(last, "2") ? column(x, i) : i;
}
static int64_t input_of(const exporting *x, const char *last, int64_t i)
{
    return same(last, "o") || same(last, "2") ? i : column(x, i);
}

static format_tensor *add(exporting *x, const char *name, int rank, int64_t rows, int64_t columns)
{
    x->at = grow(x->at, &x->cap, x->n + 1, sizeof *x->at);
    format_tensor *t = &x->at[x->n++];
    *t = (format_tensor){.name = arena_strdup(&x->memory, name), .type = "f32", .rank = rank, .dim = {rows, columns}};
    t->bytes = (size_t)(rows * (rank == 2 ? columns : 1)) * sizeof(float);
    return t;
}

void format_add(exporting *x, const char *name, const char *type, int rank, int64_t rows, int64_t columns,
                const void *data)
{
    format_tensor *t = add(x, name, rank, rank ? rows : 1, columns);
    t->type = type;
    t->bytes = t->bytes / sizeof(float) * (same(type, "f32") ? 4 : same(type, "i16") ? 2 : 1);
    t->data = memcpy(arena_alloc(&x->memory, t->bytes), data, t->bytes);
}

/* ---- tensors of each weight_row ---- */

/* Writes a projection's matrix and bias into the tensor, beginning at its row `at`. */
static void append_part(exporting *x, const part *p, const char *last, float *w, float *b, int64_t at)
{
    int64_t in = p->w->dim[2], wide = p->w->dim[3];
    const float *from = x->values + p->w->at, *bias = p->b ? x->values + p->b->at : NULL;
    float scale = (float)p->scale;
    for (int64_t o = 0; o < p->width; o++) {
        int64_t column = p->first + output_of(x, last, o);
        for (int64_t i = 0; i < in; i++) w[(at + o) * in + i] = scale * from[input_of(x, last, i) * wide + column];
        if (b && bias) b[at + o] = scale * bias[column];
    }
}

enum { MOST_PARTS = 3 };

static int add_linear(exporting *x, const weight_row *r, char *ours, const char *theirs)
{
    part parts[MOST_PARTS];
    const char *last[MOST_PARTS];
    int n = 0;
    int64_t width = 0;
    bool bias = r->how & ROW_BIAS || (r->how & ROW_LIKE && format_attention_bias(x));
    for (char *more = ours, *name; (name = strsep(&more, "+")); n++) {
        if (!find_part(x, name, &parts[n])) return 0;
        last[n] = strrchr(name, '.') + 1;
        width += parts[n].width;
        bias |= parts[n].b != NULL;
    }
    int64_t in = parts[0].w->dim[2], at = 0;
    float *w = arena_alloc(&x->memory, (size_t)(width * in) * sizeof *w),
          *b = arena_alloc(&x->memory, (size_t)width * sizeof *b);
    for (int i = 0; i < n; at += parts[i++].width) append_part(x, &parts[i], last[i], w, bias ? b : NULL, at);
    char *name = arena_printf(&x->memory, "%s%s", theirs, x->format->linear[0]);
    add(x, name, 2, width, in)->data = w;
    if (bias) add(x, arena_printf(&x->memory, "%s%s", theirs, x->format->linear[1]), 1, width, 1)->data = b;
    return 1;
}

/* Copies rows [n, d_model] with the format's order of columns. */
static float *reordered(exporting *x, const float *from, int64_t rows, double scale)
{
    int64_t d = x->m->cfg.d_model;
    float *to = arena_alloc(&x->memory, (size_t)(rows * d) * sizeof *to);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < d; i++) to[r * d + i] = (float)scale * from[r * d + column(x, i)];
    return to;
}

static int add_norm(exporting *x, const char *ours, const char *theirs)
{
    static const char *const suffixes[] = {".g", ".b"};
    int n = 0;
    for (int i = 0; i < 2; i++) {
        const param *p = find(x, ours, suffixes[i]);
        if (!p) continue;
        char *name = arena_printf(&x->memory, "%s%s", theirs, x->format->norm[i]);
        add(x, name, 1, x->m->cfg.d_model, 1)->data = reordered(x, x->values + p->at, 1, 1);
        n++;
    }
    return n;
}

static void add_table(exporting *x, const weight_row *r, const float *from, int64_t rows, const char *theirs)
{
    double scale = r->how & ROW_SCALED ? sqrt((double)x->m->cfg.d_model) : 1;
    float *data = reordered(x, from, rows, scale);
    for (size_t i = 0; i < x->n; i++)
        if (!x->at[i].alias && x->at[i].rank == 2 && x->at[i].dim[0] == rows && x->at[i].dim[1] == x->m->cfg.d_model &&
            !memcmp(x->at[i].data, data, x->at[i].bytes)) {
            const char *first = x->at[i].name;
            add(x, theirs, 2, rows, x->m->cfg.d_model)->alias = first;
            return;
        }
    add(x, theirs, 2, rows, x->m->cfg.d_model)->data = data;
}

/* Adds a position plugin's vectors: learned ones, or the table that it computed when the model was traced. */
static int add_positions(exporting *x, const weight_row *r, const char *ours)
{
    const param *p = find(x, ours, "");
    if (p) return add_table(x, r, x->values + p->at, p->dim[2], r->theirs), 1;
    for (size_t i = 0; i < x->m->tables.n; i++) {
        const cached_table *t = &x->m->tables.at[i];
        if (t->dim[0] * t->dim[1] == 1 && t->dim[3] == x->m->cfg.d_model)
            return add_table(x, r, t->data, t->dim[2], r->theirs), 1;
    }
    return 0;
}

static int add_row(exporting *x, const weight_row *r, const char *ours, const char *theirs)
{
    char *copy = arena_strdup(&x->memory, ours);
    int made = 0;
    for (char *more = copy, *name; !made && (name = strsep(&more, "|"));) {
        const param *p = r->kind == ROW_TABLE ? find(x, name, "") : NULL;
        if (r->kind == ROW_LINEAR) made = add_linear(x, r, name, theirs);
        if (r->kind == ROW_NORM) made = add_norm(x, name, theirs);
        if (r->kind == ROW_POSITIONS) made = add_positions(x, r, name);
        if (p) add_table(x, r, x->values + p->at, p->dim[2], theirs), made = 1;
    }
    return made;
}

/* `text` with each # replaced by the layer's number. */
static char *numbered(exporting *x, const char *text, int64_t layer)
{
    CLEANUP(str_free) str s = {0};
    for (; *text; text++)
        if (*text == '#')
            str_addf(&s, "%lld", (long long)layer);
        else
            str_addc(&s, *text);
    return arena_strdup(&x->memory, str_text(&s));
}

int tensors_gather(exporting *x, err *e)
{
    const config *c = &x->m->cfg;
    for (const weight_row *r = x->format->rows; r->kind; r++) {
        if (r->how & ROW_GATED && !format_gated(x)) continue;
        bool layers = strchr(r->ours, '#');
        int64_t n = !layers ? 1 : has_prefix(r->ours, "enc") ? c->layers_encoder : c->layers_decoder;
        for (int64_t i = 0; i < n; i++) add_row(x, r, numbered(x, r->ours, i), numbered(x, r->theirs, i));
    }
    for (size_t i = 0; i < x->m->params.n; i++)
        if (!x->used[i] && !has_prefix(x->m->params.p[i].name, "head.")) /* for the loss only: see check_newer_kinds */
            return fail(e, "the learned values %s have no counterpart in %s", x->m->params.p[i].name,
                        x->format->program);
    return 0;
}
