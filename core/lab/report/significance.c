/* significance.c - concatenates the statistics of several seeds and tests them with metric/stats.h. */
#include "lab/report/significance.h"
#include "text/metric/bleu.h"
#include "base/cleanup.h"
#include <math.h>
#include <string.h>

const aggregation *sum_of(const read_result *r)
{
    const aggregation *a = aggregation_recorded(r->aggregation, r->metric, r->stats.width);
    return a && r->stats.n && a->width != r->stats.width ? NULL : a;
}

/* Reads the smoothing in a signature ("...|smooth:floor[0.1]|..."); else the default. */
static bleu_options options_of(const char *signature)
{
    bleu_options o = {0};
    char word[32] = "";
    const char *at = signature ? strstr(signature, "smooth:") : NULL;
    if (at) sscanf(at, "smooth:%31[^|]", word);
    for (char *p = word; *p; p++) {
        if (*p == '[') *p = '=';
        if (*p == ']') *p = 0;
    }
    if (*word && bleu_options_parse(&o, NULL, false, word, NULL)) o = (bleu_options){0};
    return o;
}

/* `a` and `b` are lists "dev.ref HASH,test.ref HASH": common files must agree. */
bool same_references(const char *a, const char *b)
{
    for (size_t n; a && b && *a; a += n + (a[n] == ',')) {
        n = strcspn(a, ",");
        size_t name = strcspn(a, " ");
        for (const char *other = b; *other; other += *other == ',') {
            size_t m = strcspn(other, ",");
            bool named = strcspn(other, " ") == name && !strncmp(a, other, name + 1);
            if (named && (m != n || strncmp(a, other, n))) return false;
            other += m;
        }
    }
    return true;
}

/* Counts the sentences of all pairs; 0 if they cannot be concatenated. */
static size_t count_sentences(const result_pair *pairs, size_t n)
{
    size_t total = 0;
    for (size_t k = 0; k < n; k++) {
        const db_stats *a = &pairs[k].a->stats, *b = &pairs[k].b->stats;
        if (!same_references(pairs[k].a_references, pairs[k].b_references)) return 0;
        if (!a->n || a->n != b->n || a->width != b->width || a->width != pairs[0].a->stats.width) return 0;
        total += a->n;
    }
    return total;
}

double paired_p(const result_pair *pairs, size_t n, int trials)
{
    size_t sentences = count_sentences(pairs, n), width = sentences ? pairs[0].a->stats.width : 0;
    const aggregation *sum = sentences ? sum_of(pairs[0].a) : NULL;
    if (!sum) return NAN;
    AUTOFREE double *a = xmalloc(2 * sentences * width * sizeof *a);
    double *b = a + sentences * width, *to_a = a, *to_b = b;
    for (size_t k = 0; k < n; k++) {
        size_t size = pairs[k].a->stats.n * width;
        memcpy(to_a, pairs[k].a->stats.value, size * sizeof *a);
        memcpy(to_b, pairs[k].b->stats.value, size * sizeof *a);
        to_a += size, to_b += size;
    }
    bleu_options bleu = options_of(pairs[0].a->signature);
    return stats_paired_p(sum->score, sum->score == stats_bleu ? &bleu : NULL, a, b, sentences, width, (size_t)trials,
                          STATS_SEED);
}

bool influence_of(const read_result *r, double *z)
{
    const aggregation *sum = sum_of(r);
    if (!sum) return false;
    bleu_options bleu = options_of(r->signature);
    sum->influence(r->stats.value, r->stats.n, sum->score == stats_bleu ? &bleu : NULL, z);
    return true;
}
