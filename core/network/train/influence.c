/* influence.c - see influence.h. Runs the model once, then the gradient of its attentions for each query and direction,
 * for all sentences, layers and heads at once. */
#include "network/train/influence.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *scope; /* "dec.0.self" */
    weights_source from;
    ab_t probe, gradient;
    const int32_t *queries, *keys; /* [sentences + 1] first rows of the sentences */
    int64_t rows, stride;          /* rows, stride: the largest numbers of queries and of keys in a sentence */
    size_t heads;
    float *at; /* [sentences][heads][rows][stride]: sums of squared derivatives, then weights */
} seen;

struct influence {
    ab_ctx *c;
    seen *place;
    size_t n, cap;
    int64_t sentences;
    arena memory;
};

const char *influence_source(weights_source s)
{
    static const char *const names[] = {"softmax", "|d output / d value|", "|d output / d input|"};
    return names[s];
}

static int64_t longest(const int32_t *offset, int64_t n)
{
    int64_t most = 0;
    for (int64_t i = 0; i < n; i++)
        if (offset[i + 1] - offset[i] > most) most = offset[i + 1] - offset[i];
    return most;
}

/* ---- the attentions ---- */

static size_t count_of(const influence *x, const seen *s)
{
    return (size_t)(x->sentences * (int64_t)s->heads * s->rows * s->stride);
}

static void add_place(influence *x, const batch *b, const char *scope, ab_t gradient, weights_source from)
{
    bool decoder = has_prefix(scope, "dec"), cross = has_suffix(scope, "cross");
    seen s = {.scope = scope, .from = from, .gradient = gradient};
    s.probe = tape_find(x->c, arena_printf(&x->memory, "%s" PROBE, scope));
    s.queries = decoder ? b->tgt_offset : b->src_offset, s.keys = decoder && !cross ? b->tgt_offset : b->src_offset;
    s.rows = longest(s.queries, x->sentences), s.stride = longest(s.keys, x->sentences);
    s.heads = from == FROM_VALUES ? (size_t)x->c->v[gradient.id].dim[1] : 1;
    s.at = arena_alloc(&x->memory, (count_of(x, &s) + 1) * sizeof *s.at);
    memset(s.at, 0, count_of(x, &s) * sizeof *s.at);
    x->place = grow(x->place, &x->cap, x->n + 1, sizeof s);
    x->place[x->n++] = s;
}

static void find_places(influence *x, const batch *b)
{
    static const char *const names[] = {[FROM_VALUES] = BY_VALUES, [FROM_ROWS] = BY_ROWS};
    for (int32_t i = 1; i < x->c->n; i++)
        for (int from = FROM_VALUES; from <= FROM_ROWS; from++) {
            const char *name = x->c->v[i].name;
            if (name && has_suffix(name, names[from]))
                add_place(x, b, arena_strndup(&x->memory, name, strlen(name) - strlen(names[from])), (ab_t){i},
                          (weights_source)from);
        }
}

/* ---- one query per sentence, in one direction ---- */

/* Returns a random sign, equal for all queries. */
static float sign_of(int64_t direction, int64_t column)
{
    uint32_t out[4];
    philox((uint32_t[4]){(uint32_t)column, (uint32_t)direction, 0, 0}, (uint32_t[2]){0x1f1ce, 0}, out);
    return out[0] & 1 ? 1 : -1;
}

static bool asked(const seen *s, int64_t sentence, int64_t query)
{
    return query < s->queries[sentence + 1] - s->queries[sentence];
}

static void set_probe(influence *x, const seen *s, int64_t query, int64_t direction)
{
    const node *v = &x->c->v[s->probe.id];
    size_t n = (size_t)node_count(v);
    float *rows = xcalloc(n + 1, sizeof *rows);
    for (int64_t b = 0; b < x->sentences; b++)
        for (int64_t d = 0; d < v->dim[3] && asked(s, b, query); d++)
            rows[(s->queries[b] + query) * v->dim[3] + d] = sign_of(direction, d);
    tape_write(x->c, s->probe, rows, n * sizeof *rows);
    free(rows);
}

static void add_squares(influence *x, const seen *s, int64_t query)
{
    const node *v = &x->c->v[s->gradient.id];
    const float *g = v->data;
    int64_t width = v->dim[3], heads = (int64_t)s->heads;
    for (int64_t b = 0; b < x->sentences; b++)
        for (int64_t h = 0; h < heads && asked(s, b, query); h++)
            for (int64_t j = 0; j < s->keys[b + 1] - s->keys[b]; j++) {
                int64_t at = s->from == FROM_VALUES ? (b * heads + h) * v->dim[2] + j : s->keys[b] + j;
                double sum = 0;
                for (int64_t d = 0; d < width; d++) sum += pow((double)g[at * width + d], 2);
                s->at[((b * heads + h) * s->rows + query) * s->stride + j] += (float)sum;
            }
}

static int ask(influence *x, int64_t query, int64_t direction, err *e)
{
    bool any = false;
    for (size_t i = 0; i < x->n; i++) {
        const seen *s = &x->place[i];
        if (query >= s->rows || (direction && s->from == FROM_VALUES)) continue;
        set_probe(x, s, query, direction);
        any = true;
    }
    if (!any) return 0;
    if (tape_run(x->c, &(run_options){.from = PHASE_STEP})) return fail(e, "%s", x->c->error.text);
    for (size_t i = 0; i < x->n; i++) {
        const seen *s = &x->place[i];
        if (query < s->rows && !(direction && s->from == FROM_VALUES)) add_squares(x, s, query);
    }
    return 0;
}

/* ---- */

/* Divides each query's norms by their sum. */
static void normalise(const influence *x, const seen *s)
{
    for (int64_t r = 0; r < x->sentences * (int64_t)s->heads * s->rows; r++) {
        float *of = s->at + r * s->stride;
        double sum = 0;
        for (int64_t j = 0; j < s->stride; j++) sum += sqrt((double)of[j]);
        for (int64_t j = 0; j < s->stride; j++) of[j] = sum > 0 ? (float)(sqrt((double)of[j]) / sum) : 0;
    }
}

static int measure(influence *x, const batch *b, err *e)
{
    int64_t queries = 0, directions = 0;
    find_places(x, b);
    for (size_t i = 0; i < x->n; i++) {
        if (x->place[i].rows > queries) queries = x->place[i].rows;
        int64_t n = x->place[i].from == FROM_ROWS ? INFLUENCE_PROBES : 1;
        if (n > directions) directions = n;
    }
    for (int64_t q = 0; q < queries; q++)
        for (int64_t d = 0; d < directions; d++)
            if (ask(x, q, d, e)) return -1;
    for (size_t i = 0; i < x->n; i++) normalise(x, &x->place[i]);
    return 0;
}

influence *influence_open(model *m, const batch *b, err *e)
{
    influence *x = xcalloc(1, sizeof *x);
    x->sentences = b->n_sentences;
    m->keep_influence = true;
    x->c = weights_tape(m, b, e);
    m->keep_influence = false;
    if (x->c && !measure(x, b, e)) return x;
    influence_close(x);
    return NULL;
}

void influence_close(influence *x)
{
    if (!x) return;
    tape_free(x->c);
    free(x->place);
    arena_free(&x->memory);
    free(x);
}

bool influence_find(const influence *x, const char *stack, const char *part, int64_t layer, weights *out,
                    weights_source *from)
{
    char scope[64];
    snprintf(scope, sizeof scope, "%s.%lld.%s", stack, (long long)layer, part);
    for (size_t i = 0; i < x->n; i++) {
        const seen *s = &x->place[i];
        if (!same(s->scope, scope)) continue;
        *out = (weights){s->heads, (size_t)s->rows, (size_t)s->stride, s->at};
        *from = s->from;
        return true;
    }
    *from = FROM_SOFTMAX;
    return weights_find(x->c, stack, part, layer, out);
}
