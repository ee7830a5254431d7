/* outputs.c - reads outputs as trees, scores them, and formats them for users of a trained model. */
#include "task.h"
#include "typed.h"
#include "tasks/reject.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { /* a sentence that owns its memory */
    sentence s;
    slice *word, *tag;
    size_t cap;
} line_words;

static void read_word(line_words *l, slice word, slice tag)
{
    if ((size_t)l->s.n == l->cap) {
        l->cap = 2 * l->cap + 64;
        l->word = resized(l->word, l->cap, sizeof *l->word);
        l->tag = resized(l->tag, l->cap, sizeof *l->tag);
    }
    l->word[l->s.n] = word;
    l->tag[l->s.n++] = tag;
    l->s.word = l->word;
}

static void line_free(line_words *l)
{
    free(l->word);
    free(l->tag);
    *l = (line_words){0};
}

int task_accepts(void *self, const char *src, const char *output)
{
    task *t = self;
    line_words l = {0};
    tree x = {0};
    for (slice w; (w = next_word(&src)).n;) read_word(&l, w, (slice){0});
    int good = linear_read((form)t->c.linearisation, output, &l.s, &t->seen, &x);
    line_free(&l);
    tree_free(&x);
    return good;
}

/* Writes the output's tree with the gold tree's tags. Returns 1 if the output was well-formed, 0 if it was repaired. */
static int with_gold_tags(task *t, const char *gold, const char *output, buffer *out)
{
    char words[256];
    treebank b = {.path = "", .text = (char *)gold, .n = strlen(gold), .line = 1};
    line_words l = {0};
    tree x = {0};
    treebank_next(&b, &x, words, sizeof words);
    for (size_t i = 0; i < x.n; i++)
        if (x.at[i].kind == LEAF) read_word(&l, x.at[i].word, x.at[i].label);
    l.s.tag = l.tag;
    int good = linear_read((form)t->c.linearisation, output, &l.s, &t->seen, &x);
    tree_write(&x, out);
    line_free(&l);
    tree_free(&x);
    return good;
}

/* The output with gold tags, for scoring, because EVALB excludes words by their tags. */
const char *task_shown(void *self, ab_split which, int64_t i, const char *output)
{
    task *t = self;
    const char *gold = t->split[which].gold[task_tree(t, which, i)];
    if (!output) return gold;
    buffer_clear(&t->presented);
    with_gold_tags(t, gold, output, &t->presented);
    return t->presented.s;
}

/* ---- score ---- */

static ab_metric figure(const char *name, ab_sum sum, int64_t width, const double *stats, int64_t n,
                        const char *signature)
{
    ab_metric m = {.unit = "%", .sum = sum, .n_stats = width, .stats = stats};
    double s[3] = {0};
    for (int64_t i = 0; i < n * width; i++) s[i % width] += stats[i];
    double part = sum == AB_SUM_F1 ? 2 * s[0] : s[0], whole = sum == AB_SUM_F1 ? s[1] + s[2] : s[1];
    m.value = whole > 0 ? 100 * part / whole : 0;
    snprintf(m.name, sizeof m.name, "%s", name);
    snprintf(m.signature, sizeof m.signature, "%s", signature);
    return m;
}

/* stats: [n][3] of F1; [n][3] of strict F1; [n][2] of complete matches; [n][2] of well-formed outputs. */
static int figures(task *t, ab_split which, const ab_f1 *f, const int *good, int64_t n, ab_metric *out, int max)
{
    char signature[160];
    double *stats = t->stats = resized(t->stats, (size_t)n * 10, sizeof *stats);
    double *strict = stats + 3 * n, *complete = strict + 3 * n, *formed = complete + 2 * n;
    memcpy(stats, f->stats, (size_t)n * 3 * sizeof *stats);
    memcpy(strict, f->strict, (size_t)n * 3 * sizeof *stats);
    memcpy(complete, f->complete, (size_t)n * 2 * sizeof *stats);
    for (int64_t i = 0; i < n; i++) {
        if (!good[i]) strict[3 * i] = strict[3 * i + 2] = 0;
        formed[2 * i] = good[i], formed[2 * i + 1] = 1;
    }
    /* GUM's trees are a parser's output, so scores on them measure agreement with a parser */
    snprintf(signature, sizeof signature, "evalb:COLLINS|tags:gold|sentences:%lld|skipped:%lld|errors:%lld%s",
             (long long)n, (long long)f->skipped, (long long)f->errors,
             t->split[which].gum ? "|gold:a parser's output" : "");
    const ab_metric all[] = {
        figure("F1", AB_SUM_F1, 3, stats, n, signature),
        figure("F1_strict", AB_SUM_F1, 3, strict, n,
               "evalb:COLLINS|all brackets of a repaired, skipped or wrong tree count as missed"),
        figure("complete", AB_SUM_RATIO, 2, complete, n, "sentences with every bracket right"),
        figure("well_formed", AB_SUM_RATIO, 2, formed, n, "outputs that needed no repair"),
    };
    int k = 0;
    for (; k < max && k < (int)(sizeof all / sizeof *all); k++) out[k] = all[k];
    return k;
}

int task_score(void *self, ab_split which, const char *const *hyp, int64_t n, ab_metric *out, int max, char *err,
               size_t n_err)
{
    task *t = self;
    const split *s = &t->split[which];
    if (n != s->n) return reject(err, n_err, "%lld lines to score, expected %lld", (long long)n, (long long)s->n);
    char **trees = resized(NULL, (size_t)n, sizeof *trees);
    int *good = resized(NULL, (size_t)n, sizeof *good), made = -1;
    ab_f1 f;
    for (int64_t i = 0; i < n; i++) {
        buffer_clear(&t->scratch);
        good[i] = with_gold_tags(t, s->gold[i], hyp[i], &t->scratch);
        trees[i] = task_kept(&t->scratch);
    }
    if (!t->host->f1((const char *const *)trees, (const char *const *)s->gold, n, &f, err, n_err))
        made = figures(t, which, &f, good, n, out, max);
    for (int64_t i = 0; i < n; i++) free(trees[i]);
    free(trees);
    free(good);
    return made;
}

/* ---- using a model ---- */

const char *task_prepare(void *self, const char *typed)
{
    task *t = self;
    int tagged = typed_tagged(typed);
    buffer_clear(&t->prepared);
    for (slice w; (w = next_word(&typed)).n;) {
        if (t->prepared.n) buffer_text(&t->prepared, " ");
        typed_add(&t->prepared, (slice){w.s, tagged ? typed_word(w) : w.n});
    }
    return t->prepared.s;
}

const char *task_present(void *self, const char *typed, const char *output)
{
    task *t = self;
    line_words l = {0};
    tree x = {0};
    const char *words = task_prepare(t, typed);
    int tagged = typed_tagged(typed);
    for (slice w; (w = next_word(&words)).n;) {
        slice given = next_word(&typed), tag = {0};
        size_t n = typed_word(given);
        if (tagged) tag = (slice){given.s + n + 1, given.n - n - 1};
        read_word(&l, w, tag);
    }
    if (tagged) l.s.tag = l.tag;
    linear_read((form)t->c.linearisation, output, &l.s, &t->seen, &x);
    buffer_clear(&t->presented);
    tree_write(&x, &t->presented);
    line_free(&l);
    tree_free(&x);
    return t->presented.s;
}
