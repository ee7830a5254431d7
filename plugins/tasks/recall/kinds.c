/* kinds.c - the generators. Multi-query associative recall: Arora et al. 2023 ("Zoology", section 4, with its code's
 * distribution). Selective copy, fuzzy and noisy recall, compression and memorisation: Poli et al. 2024 ("MAD", section
 * 3). Induction: Dao et al. 2022 (H3). */
#include "kinds.h"
#include "tasks/memory.h"
#include "tasks/random.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct recall {
    recall_config c;
    double *weight; /* mqar: weights of a query's possible positions, [space] */
    int64_t space;
    int32_t *fact; /* memorisation: the value of each key, [keys] */
    int64_t keys;
};

/* ---- random numbers ---- */

static int64_t recall_below(uint64_t *state, int64_t n) { return (int64_t)((splitmix(state) >> 11) % (uint64_t)n); }

/* Draws n different numbers from `from` .. from + of - 1, in random order. n is much smaller than `of`, so duplicates
 * are simply drawn again. */
static void distinct(uint64_t *random, int64_t from, int64_t of, int64_t n, int32_t *out)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t k = 0;
        out[i] = (int32_t)(from + recall_below(random, of));
        while (k < i && out[k] != out[i]) k++;
        if (k < i) i--;
    }
}

/* ---- mqar: k v k v ..., then queries k at distances that follow a power law ---- */

static void make_mqar(const recall *r, uint64_t *random, int32_t *in, int32_t *label)
{
    const recall_config *c = &r->c;
    int64_t n = c->pairs, half = c->vocab / 2;
    int32_t key[n], value[n];
    double left[r->space], sum = 0;
    distinct(random, 1, half - 1, n, key);
    distinct(random, half, c->vocab - half, n, value);
    for (int64_t i = 0; i < n; i++) in[2 * i] = key[i], in[2 * i + 1] = value[i];
    char *is_key = c->random_filler ? need(calloc((size_t)c->vocab, sizeof *is_key)) : NULL;
    for (int64_t i = 0; i < n && is_key; i++) is_key[key[i]] = 1;
    for (int64_t i = 2 * n; i < c->length; i++) {
        do in[i] = is_key ? (int32_t)recall_below(random, c->vocab) : 0;
        while (is_key && is_key[in[i]]); /* a key followed by another value would contradict its pair */
    }
    free(is_key);
    for (int64_t i = 0; i < r->space; i++) sum += left[i] = r->weight[i];
    for (int64_t q = 0; q < n; q++) { /* draws a different position for each query */
        double x = uniform(random) * sum;
        int64_t at = 0;
        while (at + 1 < r->space && (left[at] <= 0 || (x -= left[at]) >= 0)) at++;
        while (left[at] <= 0) at = (at + r->space - 1) % r->space; /* rounding went past the last free position */
        sum -= left[at];
        left[at] = 0;
        in[2 * n + 2 * at] = key[q];
        label[2 * n + 2 * at] = value[q];
    }
}

/* ---- induction: recall the symbol after the first special symbol ---- */

static void make_induction(const recall *r, uint64_t *random, int32_t *in, int32_t *label)
{
    const recall_config *c = &r->c;
    int64_t n = c->length, at = recall_below(random, n - 2);
    for (int64_t i = 0; i < n; i++) in[i] = (int32_t)recall_below(random, c->vocab - 1);
    in[at] = in[n - 1] = (int32_t)(c->vocab - 1);
    label[n - 1] = in[at + 1];
}

/* ---- selective copy and compression: repeat the symbols; selective copy has blanks among them ---- */

static void make_copy(const recall *r, uint64_t *random, int32_t *in, int32_t *label)
{
    const recall_config *c = &r->c;
    int selective = c->kind == SELECTIVE_COPY;
    int64_t n = selective ? c->copies : (c->length - 1) / 2, blanks = c->length - 2 * n - 1, at = 0;
    int32_t blank = (int32_t)(c->vocab - 2), go = (int32_t)(c->vocab - 1), before[n];
    memset(before, 0, sizeof before); /* number of blanks before each symbol */
    for (int64_t i = 0; i < blanks; i++) before[recall_below(random, n)]++;
    for (int64_t i = 0; i < n; i++) {
        while (before[i]--) in[at++] = blank;
        label[c->length - n + i] = in[at++] = (int32_t)recall_below(random, c->vocab - 2);
    }
    in[at++] = go;
    while (at < c->length) in[at++] = blank;
}

/* ---- noisy recall: repeated keys, with noise among the pairs ---- */

static void make_noisy(const recall *r, uint64_t *random, int32_t *in, int32_t *label)
{
    const recall_config *c = &r->c;
    int64_t plain = c->vocab - c->noise_vocab, half = plain / 2, pairs = c->length / 2,
            sure = recall_below(random, pairs - 1), seen = 0;
    int32_t value[half], shown[half];
    for (int64_t k = 0; k < half; k++) value[k] = -1;
    for (int64_t i = 0; i < pairs; i++) {
        int last = i == pairs - 1;
        if (!last && i != sure && uniform(random) < c->noise) {
            for (int64_t j = 0; j < 2; j++) in[2 * i + j] = (int32_t)(plain + recall_below(random, c->noise_vocab));
            continue;
        }
        int32_t k = last ? shown[recall_below(random, seen)] : (int32_t)recall_below(random, half);
        in[2 * i] = k;
        if (value[k] >= 0)
            label[2 * i] = value[k];
        else
            value[k] = (int32_t)(half + recall_below(random, plain - half)), shown[seen++] = k;
        in[2 * i + 1] = value[k];
    }
}

/* ---- fuzzy recall: keys and values of several symbols ---- */

enum { MOST_MOTIF = 8 };
typedef struct {
    int32_t key[MOST_MOTIF], value[MOST_MOTIF];
    int64_t k, v; /* their lengths */
} motif_pair;

static motif_pair new_pair(const recall_config *c, uint64_t *random, int testing)
{
    int64_t half = (c->vocab - 1) / 2;
    motif_pair p = {.k = testing ? c->motif : 1 + recall_below(random, c->motif),
                    .v = 1 + recall_below(random, c->motif)};
    distinct(random, 0, half, p.k, p.key);
    distinct(random, half, c->vocab - 1 - half, p.v, p.value);
    return p;
}

/* Writes the pair at `at` and returns its end. If the key was shown before, its value is a label. */
static int64_t write_pair(const motif_pair *p, int64_t at, int ask, int32_t *in, int32_t *label)
{
    memcpy(in + at, p->key, (size_t)p->k * sizeof *in);
    memcpy(in + at + p->k, p->value, (size_t)p->v * sizeof *in);
    for (int64_t j = 0; ask && j < p->v; j++) label[at + p->k - 1 + j] = p->value[j];
    return at + p->k + p->v;
}

static void make_fuzzy(const recall *r, uint64_t *random, int testing, int32_t *in, int32_t *label)
{
    const recall_config *c = &r->c;
    int64_t room = c->length + 1, n = 0, at = 0; /* one more: the last symbol of the last value is only a label */
    motif_pair *shown = need(malloc((size_t)room * sizeof *shown)), probe = new_pair(c, random, testing);
    int32_t *sequence = need(malloc((size_t)room * 2 * sizeof *sequence)), *asked = sequence + room;
    int64_t own = probe.k + probe.v, place = recall_below(random, room - 2 * own - 2 * c->motif + 1), there = 0;
    for (int64_t i = 0; i < room; i++) asked[i] = -1;
    while (at + 2 * c->motif + own <= room || !there) {
        int probe_now = !there && (at >= place || at + 2 * c->motif + own > room - own);
        motif_pair p = probe_now ? probe : new_pair(c, random, testing);
        int64_t k = 0;
        while (k < n && (shown[k].k != p.k || memcmp(shown[k].key, p.key, (size_t)p.k * sizeof *p.key))) k++;
        int known = k < n;
        if (!known && p.k == probe.k && !memcmp(p.key, probe.key, (size_t)p.k * sizeof *p.key)) p = probe, there = 1;
        if (!known) shown[n++] = p;
        at = write_pair(&shown[k], at, known, sequence, asked);
    }
    at = write_pair(&probe, at, 1, sequence, asked);
    int64_t pad = room - at; /* padding is at the start, as in MAD */
    for (int64_t i = 0; i < c->length; i++) {
        in[i] = i < pad ? (int32_t)(c->vocab - 1) : sequence[i - pad];
        label[i] = i < pad ? -1 : asked[i - pad];
    }
    free(shown);
    free(sequence);
}

/* ---- memorisation: all examples ask for facts of one table ---- */

static void make_memorisation(const recall *r, uint64_t *random, int32_t *in, int32_t *label)
{
    for (int64_t i = 0; i + 1 < r->c.length; i += 2) {
        in[i] = (int32_t)recall_below(random, r->keys);
        in[i + 1] = (int32_t)(r->c.vocab - 1);
        label[i + 1] = r->fact[in[i]];
    }
    if (r->c.length % 2) in[r->c.length - 1] = (int32_t)(r->c.vocab - 1);
}

/* ---- all ---- */

/* The first condition that the settings violate; NULL: all conditions hold. */
static const char *unfit(const recall_config *c)
{
    switch (c->kind) {
    case MQAR:
        if (c->length < 4 * c->pairs) return "length >= 4 pairs";
        return c->vocab / 2 <= c->pairs ? "vocab >= 2 pairs + 2" : NULL;
    case INDUCTION: return c->length < 4 ? "length >= 4" : c->vocab < 3 ? "vocab >= 3" : NULL;
    case SELECTIVE_COPY: return c->length <= 2 * c->copies ? "length > 2 copies" : c->vocab < 3 ? "vocab >= 3" : NULL;
    case COMPRESSION: return c->length < 3 ? "length >= 3" : c->vocab < 3 ? "vocab >= 3" : NULL;
    case FUZZY:
        if (c->length < 8 * c->motif) return "length >= 8 motif";
        return (c->vocab - 1) / 2 < c->motif ? "vocab > 2 motif" : NULL;
    case NOISY:
        if (c->length < 4 || c->length % 2) return "an even length >= 4";
        return c->vocab - c->noise_vocab < 4 ? "vocab >= noise_vocab + 4" : NULL;
    default: return c->length < 2 ? "length >= 2" : c->vocab < 3 ? "vocab >= 3" : NULL;
    }
}

recall *recall_new(const recall_config *c, uint64_t seed, char *err, size_t n_err)
{
    const char *wanted = unfit(c);
    if (wanted) {
        snprintf(err, n_err,
                 "recall.length = %lld, vocab = %lld, pairs = %lld, copies = %lld, motif = %lld, noise_vocab = %lld: "
                 "expected %s",
                 (long long)c->length, (long long)c->vocab, (long long)c->pairs, (long long)c->copies,
                 (long long)c->motif, (long long)c->noise_vocab, wanted);
        return NULL;
    }
    recall *r = need(calloc(1, sizeof *r));
    r->c = *c;
    if (c->kind == MQAR) {
        r->space = (c->length - 2 * c->pairs) / 2;
        r->weight = need(malloc((size_t)r->space * sizeof *r->weight));
        for (int64_t i = 0; i < r->space; i++) r->weight[i] = pow((double)(i + 1), c->power - 1);
    }
    if (c->kind == MEMORISATION) {
        r->keys = (c->vocab - 1) / 2;
        r->fact = need(malloc((size_t)r->keys * sizeof *r->fact));
        for (int64_t i = 0; i < r->keys; i++) r->fact[i] = (int32_t)(r->keys + i);
        for (int64_t i = r->keys - 1; i > 0; i--) {
            int64_t j = recall_below(&seed, i + 1);
            int32_t t = r->fact[i];
            r->fact[i] = r->fact[j], r->fact[j] = t;
        }
    }
    return r;
}

void recall_free(recall *r)
{
    if (!r) return;
    free(r->weight);
    free(r->fact);
    free(r);
}

void recall_make(const recall *r, uint64_t *random, int testing, int32_t *input, int32_t *label)
{
    for (int64_t i = 0; i < r->c.length; i++) label[i] = -1;
    switch (r->c.kind) {
    case MQAR: make_mqar(r, random, input, label); break;
    case INDUCTION: make_induction(r, random, input, label); break;
    case SELECTIVE_COPY:
    case COMPRESSION: make_copy(r, random, input, label); break;
    case FUZZY: make_fuzzy(r, random, testing, input, label); break;
    case NOISY: make_noisy(r, random, input, label); break;
    default: make_memorisation(r, random, input, label); break;
    }
}
