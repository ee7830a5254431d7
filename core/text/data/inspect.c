/* inspect.c - one pass over all pairs, with sorted hashes of the training pairs. */
#include "text/data/inspect.h"
#include "text/tokens/vocab.h"
#include <stdlib.h>
#include <string.h>

const int64_t length_bins[LENGTH_BINS - 1] = {5, 10, 20, 40, 80, 160};
static const char *const names[AB_SPLITS] = {"train", "dev", "test"};

typedef struct { /* hashes of the training pairs, sorted */
    uint64_t *pair, *src;
    int64_t n;
} seen;

static int64_t words_of(const char *line)
{
    int64_t n = 0;
    for (; *line; line += strspn(line, " \t")) {
        size_t word = strcspn(line, " \t");
        n += word > 0, line += word;
    }
    return n;
}

static void add_length(int64_t bins[LENGTH_BINS], int64_t words)
{
    int k = 0;
    while (k < LENGTH_BINS - 1 && words > length_bins[k]) k++;
    bins[k]++;
}

static uint64_t hash_of(const char *text) { return hash64(text, strlen(text)); }
/* Not symmetric: a pair and its sides the other way round differ. */
static uint64_t pair_of(uint64_t src, uint64_t tgt) { return src * 0x9e3779b97f4a7c15u ^ (tgt + (src >> 32)); }

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}
static bool has(const uint64_t *sorted, int64_t n, uint64_t x)
{
    return bsearch(&x, sorted, (size_t)n, sizeof x, by_value) != NULL;
}

static int64_t repeated(uint64_t *h, int64_t n)
{
    int64_t twice = 0;
    qsort(h, (size_t)n, sizeof *h, by_value);
    for (int64_t i = 1; i < n; i++) twice += h[i] == h[i - 1];
    return twice;
}

static void look_at(split_report *r, const ab_example *x, bool alone)
{
    int64_t src = words_of(x->src), tgt = words_of(x->tgt), most = src > tgt ? src : tgt, least = src + tgt - most;
    r->pairs++;
    r->src_words += src, r->tgt_words += tgt;
    add_length(r->src_bins, src), add_length(r->tgt_bins, tgt);
    r->empty += (!src && !alone) || !tgt;
    r->not_utf8 += utf8_bad(x->src, strlen(x->src)) >= 0 || utf8_bad(x->tgt, strlen(x->tgt)) >= 0;
    r->identical += src && !strcmp(x->src, x->tgt);
    r->ratio += least && most >= 10 && most > 3 * least;
}

/* Reads a split; train's hashes go to `all`, others are compared with them. */
static void inspect_split(const ab_task_plugin *task, void *self, ab_split which, seen *all, data_report *to)
{
    split_report *r = &to->split[which];
    int64_t n = task->count(self, which);
    uint64_t *pair = xcalloc((size_t)n + 1, sizeof *pair), *src = xcalloc((size_t)n + 1, sizeof *src), *turned = NULL;
    if (which == AB_TRAIN) turned = xcalloc((size_t)n + 1, sizeof *turned);
    for (int64_t i = 0; i < n; i++) {
        ab_example x;
        task->get(self, which, i, &x);
        to->alone = !x.src;
        if (!x.src) x.src = "";
        look_at(r, &x, to->alone);
        uint64_t s = hash_of(x.src), t = hash_of(x.tgt);
        src[i] = s, pair[i] = pair_of(s, t);
        if (turned) turned[i] = s == t ? 0 : pair_of(t, s);
        if (which == AB_TRAIN) continue;
        r->in_train += has(all->pair, all->n, pair[i]);
        r->src_in_train += has(all->src, all->n, s);
        r->swapped += s != t && has(all->pair, all->n, pair_of(t, s));
    }
    r->twice = repeated(pair, n);
    for (int64_t i = 0; i < n && turned; i++) r->swapped += turned[i] && has(pair, n, turned[i]);
    free(turned);
    if (which == AB_TRAIN) {
        qsort(src, (size_t)n, sizeof *src, by_value);
        *all = (seen){pair, src, n};
        return;
    }
    free(pair);
    free(src);
}

void data_inspect(const ab_task_plugin *task, void *self, data_report *out)
{
    seen train = {0};
    *out = (data_report){0};
    for (ab_split s = AB_TRAIN; s < AB_SPLITS; s++) inspect_split(task, self, s, &train, out);
    free(train.pair);
    free(train.src);
}

bool data_inspectable(const char *data) { return data && !same(data, "synthetic"); }

void data_dangers(const data_report *r, str *out)
{
    const char *what = r->alone ? "examples" : "pairs";
    for (ab_split s = AB_TRAIN; s < AB_SPLITS; s++) {
        const split_report *x = &r->split[s];
        if (x->in_train)
            str_addf(out, "%s%lld of %lld %s %s are training %s too", out->n ? "; " : "", (long long)x->in_train,
                     (long long)x->pairs, names[s], what, what);
        if (x->empty)
            str_addf(out, "%s%lld of %lld %s %s %s", out->n ? "; " : "", (long long)x->empty, (long long)x->pairs,
                     names[s], what, r->alone ? "are empty" : "have an empty side");
    }
}
