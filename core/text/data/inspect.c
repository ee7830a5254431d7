/* inspect.c - inspects all pairs in one pass, with sorted hashes of the training pairs. */
#include "text/data/inspect.h"
#include "base/cleanup.h"
#include "text/data/dataset.h"
#include <stdlib.h>
#include <string.h>

const int64_t length_bins[LENGTH_BINS - 1] = {5, 10, 20, 40, 80, 160};

typedef struct { /* a text's hash, and its example */
    uint64_t hash;
    int64_t at;
} key;

typedef struct { /* hashes of the training pairs, sorted */
    key *pair, *src;
    int64_t n;
} seen;

typedef struct {
    const ab_task_plugin *task;
    void *self;
    const data_listener *to;
    ab_split which;
    split_report *r;
} inspection;

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
/* A hash of both sides, which depends on their order. */
static uint64_t hash_pair(uint64_t src, uint64_t tgt) { return src * 0x9e3779b97f4a7c15u ^ (tgt + (src >> 32)); }

static int by_hash(const void *a, const void *b)
{
    const key *x = a, *y = b;
    return (x->hash > y->hash) - (x->hash < y->hash);
}
static int by_hash_and_place(const void *a, const void *b)
{
    const key *x = a, *y = b;
    return x->hash != y->hash ? by_hash(a, b) : (x->at > y->at) - (x->at < y->at);
}
static bool has(const key *sorted, int64_t n, uint64_t x)
{
    return bsearch((&(key){x, 0}), sorted, (size_t)n, sizeof *sorted, by_hash) != NULL;
}

#define FAULT(field) offsetof(split_report, field)
static void count(const inspection *c, bool is, size_t field, int64_t i, const ab_example *x)
{
    if (!is) return;
    ++*(int64_t *)(void *)((char *)c->r + field);
    if (c->to) c->to->fault(c->to->to, c->which, field, i, x);
}

static void count_at(const inspection *c, size_t field, int64_t i)
{
    ab_example x;
    c->task->get(c->self, c->which, i, &x);
    count(c, true, field, i, &x);
}

static void inspect_line(const inspection *c, int64_t i, const ab_example *x, bool alone)
{
    split_report *r = c->r;
    int64_t src = words_of(x->src), tgt = words_of(x->tgt), most = src > tgt ? src : tgt, least = src + tgt - most;
    r->pairs++;
    r->src_words += src, r->tgt_words += tgt;
    add_length(r->src_bins, src), add_length(r->tgt_bins, tgt);
    count(c, (!src && !alone) || !tgt, FAULT(empty), i, x);
    count(c, utf8_bad(x->src, strlen(x->src)) >= 0 || utf8_bad(x->tgt, strlen(x->tgt)) >= 0, FAULT(not_utf8), i, x);
    count(c, src && !strcmp(x->src, x->tgt), FAULT(identical), i, x);
    count(c, least && most >= 10 && most > 3 * least, FAULT(ratio), i, x);
    count(c, word_too_long(x->src) || word_too_long(x->tgt), FAULT(long_word), i, x);
}

/* Inspects a split: stores hashes of train in `all`, and compares dev and test with them. */
static void inspect_split(const inspection *c, seen *all, bool *alone)
{
    int64_t n = c->task->count(c->self, c->which);
    key *pair = xcalloc((size_t)n + 1, sizeof *pair), *src = xcalloc((size_t)n + 1, sizeof *src);
    bool train = c->which == AB_TRAIN;
    AUTOFREE uint64_t *turned = train ? xcalloc((size_t)n + 1, sizeof *turned) : NULL;
    for (int64_t i = 0; i < n; i++) {
        ab_example x;
        c->task->get(c->self, c->which, i, &x);
        *alone = !x.src;
        if (!x.src) x.src = "";
        inspect_line(c, i, &x, *alone);
        uint64_t s = hash_of(x.src), t = hash_of(x.tgt);
        src[i] = (key){s, i}, pair[i] = (key){hash_pair(s, t), i};
        if (train) turned[i] = s == t ? 0 : hash_pair(t, s);
        if (train) continue;
        count(c, has(all->pair, all->n, pair[i].hash), FAULT(in_train), i, &x);
        count(c, has(all->src, all->n, s), FAULT(src_in_train), i, &x);
        count(c, s != t && has(all->pair, all->n, hash_pair(t, s)), FAULT(swapped), i, &x);
    }
    qsort(pair, (size_t)n, sizeof *pair, by_hash_and_place);
    for (int64_t i = 1; i < n; i++)
        if (pair[i].hash == pair[i - 1].hash) count_at(c, FAULT(twice), pair[i].at);
    for (int64_t i = 0; i < n && train; i++)
        if (turned[i] && has(pair, n, turned[i])) count_at(c, FAULT(swapped), i);
    if (train) {
        qsort(src, (size_t)n, sizeof *src, by_hash);
        *all = (seen){pair, src, n};
        return;
    }
    free(pair);
    free(src);
}

void data_inspect(const ab_task_plugin *task, void *self, data_report *out, const data_listener *to)
{
    seen train = {0};
    *out = (data_report){0};
    for (ab_split s = AB_TRAIN; s < AB_SPLITS; s++)
        inspect_split(&(inspection){task, self, to, s, &out->split[s]}, &train, &out->alone);
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
            str_addf(out, "%s%lld of %lld %s %s also occur as training %s", out->n ? "; " : "", (long long)x->in_train,
                     (long long)x->pairs, split_names[s], what, what);
        if (x->long_word)
            str_addf(out, "%s%lld of %lld %s %s have a word of more than %d characters", out->n ? "; " : "",
                     (long long)x->long_word, (long long)x->pairs, split_names[s], what, LONGEST_WORD);
        if (x->empty)
            str_addf(out, "%s%lld of %lld %s %s %s", out->n ? "; " : "", (long long)x->empty, (long long)x->pairs,
                     split_names[s], what, r->alone ? "are empty" : "have an empty side");
    }
}
