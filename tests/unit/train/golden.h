/* golden.h - reads tests/oracle/golden (format: the README there) and makes the models and batches described there. */
#ifndef ABLATE_GOLDEN_H
#define ABLATE_GOLDEN_H
#include "tensor/cpu/cpu.h"
#include "network/model/model.h"
#include "test.h"
#include "network/train/train.h"

typedef struct {
    char **word;
    int n;
} golden_line;
typedef struct {
    str text;
    char **lines;
    size_t n;
    golden_line *line;
    arena memory;
} golden;

static inline void golden_read(golden *g, const char *path)
{
    err e = {0};
    *g = (golden){0};
    if (file_lines(path, &g->text, &g->lines, &g->n, &e)) broken("%s", e.text);
    g->line = arena_alloc(&g->memory, (g->n + 1) * sizeof *g->line);
    for (size_t i = 0; i < g->n; i++) {
        int n = 0;
        g->line[i].word = arena_alloc(&g->memory, (strlen(g->lines[i]) / 2 + 2) * sizeof(char *));
        for (char *w = strtok(g->lines[i], " "); w; w = strtok(NULL, " ")) g->line[i].word[n++] = w;
        g->line[i].n = n;
    }
}
static inline void golden_free(golden *g)
{
    arena_free(&g->memory);
    free(g->lines);
    str_free(&g->text);
}

/* Returns the next line from *at on that begins with these words (the second may be NULL), or NULL. */
static inline const golden_line *golden_find(const golden *g, size_t *at, const char *first, const char *second)
{
    for (; *at < g->n; (*at)++) {
        const golden_line *l = &g->line[*at];
        if (l->n > 1 && same(l->word[0], first) && (!second || same(l->word[1], second))) return &g->line[(*at)++];
    }
    return NULL;
}
static inline const char *golden_config(const golden *g, const char *key)
{
    size_t at = 0;
    const golden_line *l = golden_find(g, &at, "config", NULL);
    for (int i = 2; l && i + 1 < l->n; i += 2)
        if (same(l->word[i], key)) return l->word[i + 1];
    return NULL;
}
static inline double golden_value(const golden *g, const char *key)
{
    size_t at = 0;
    const golden_line *l = golden_find(g, &at, "value", key);
    return l ? strtod(l->word[2], NULL) : NAN;
}

static inline uint64_t splitmix64(uint64_t x)
{
    uint64_t z = x + 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}
static inline double hashed(uint64_t p, uint64_t j)
{
    return (double)(splitmix64(p * 1000003 + j) >> 40) / 8388608.0 - 1;
}

/* Converts the settings of a golden file to a run's settings. */
static inline void golden_settings(const golden *g, settings *set, arena *a)
{
    static const char *const keys[] = {"d_model", "d_ff", "heads", "d_k", "d_v", "layers", "label_smoothing", "warmup"};
    for (const ab_option *p = config_params; p->name; p++) settings_set(set, p->name, param_default(p, a), a);
    for (size_t i = 0; i < LENGTH(keys); i++) settings_set(set, keys[i], golden_config(g, keys[i]), a);
    settings_set(set, "block", same(golden_config(g, "norm"), "pre") ? "pre_norm" : "post_norm", a);
    settings_set(set, "label_smoothing_over", golden_config(g, "smoothing"), a);
    settings_set(set, "lr", golden_config(g, "lr_scale"), a);
    settings_set(set, "dropout", "0", a);
}

static inline void golden_weights(const golden *g, model *m)
{
    size_t at = 0;
    const golden_line *l;
    while ((l = golden_find(g, &at, "param", NULL))) {
        uint64_t stream = strtoull(l->word[1], NULL, 10);
        const char *name = l->word[2];
        param *p = params_find(&m->params, name);
        CHECK(p != NULL);
        if (!p) continue;
        double rows = strtod(l->word[3], NULL);
        CHECK_INT(p->count, (int64_t)(rows * strtod(l->word[4], NULL)));
        for (size_t j = 0; j < p->count; j++) {
            double u = hashed(stream, j), x;
            if (same(name, "embed"))
                x = u / sqrt((double)m->cfg.d_model);
            else if (has_suffix(name, ".g"))
                x = 1 + 0.1 * u;
            else if (has_suffix(name, ".b"))
                x = 0.1 * u;
            else
                x = sqrt(3 / rows) * u;
            if (m->params.type == F64)
                ((double *)m->params.value)[p->at + j] = (float)x;
            else
                ((float *)m->params.value)[p->at + j] = (float)x;
        }
    }
    m->params.version++;
}

/* A packed batch. Its numbers of rows are rounded up to multiples of `round`. */
typedef struct {
    int32_t src[256], src_pos[256], src_off[32], in[256], out[256], pos[256], off[32];
    int64_t example[32];
    batch b;
} golden_batch;
static inline int32_t golden_side(const golden *g, const char *what, int32_t *ids, int32_t *pos, int32_t *off)
{
    size_t at = 0;
    int32_t rows = 0, s = 0;
    const golden_line *l;
    while ((l = golden_find(g, &at, what, NULL))) {
        off[s++] = rows;
        for (int i = 3; i < l->n; i++) pos[rows] = i - 3, ids[rows++] = (int32_t)strtol(l->word[i], NULL, 10);
    }
    off[s] = rows;
    return rows;
}
static inline void golden_make_batch(const golden *g, golden_batch *b, int64_t round)
{
    memset(b, 0, sizeof *b);
    int32_t src_rows = golden_side(g, "src", b->src, b->src_pos, b->src_off),
            tgt_rows = golden_side(g, "in", b->in, b->pos, b->off);
    golden_side(g, "out", b->out, b->pos, b->off);
    int64_t n = 0, src_longest = 0, tgt_longest = 0;
    for (; b->off[n + 1] > b->off[n]; n++) {
        int64_t s = b->src_off[n + 1] - b->src_off[n], t = b->off[n + 1] - b->off[n];
        src_longest = s > src_longest ? s : src_longest, tgt_longest = t > tgt_longest ? t : tgt_longest;
        b->example[n] = n;
    }
    int64_t src_cap = (src_rows + round - 1) / round * round, tgt_cap = (tgt_rows + round - 1) / round * round;
    for (int64_t i = tgt_rows; i < tgt_cap; i++) b->out[i] = -1;
    b->b = (batch){.n_sentences = n,
                   .src_rows = src_rows,
                   .tgt_rows = tgt_rows,
                   .src_cap = src_cap,
                   .tgt_cap = tgt_cap,
                   .src_longest = src_longest,
                   .tgt_longest = tgt_longest,
                   .src_ids = b->src,
                   .src_pos = b->src_pos,
                   .src_offset = b->src_off,
                   .tgt_in = b->in,
                   .tgt_out = b->out,
                   .tgt_pos = b->pos,
                   .tgt_offset = b->off,
                   .example = b->example};
}
#endif
