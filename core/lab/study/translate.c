/* translate.c - translates standard input line by line with a trained model. */
#include "lab/study/predict.h"
#include "network/decode/beam.h"
#include "text/data/input.h"
#include "lab/study/align.h"
#include <string.h>

enum { LARGEST_PART = 4096, MOST_OUTPUTS = 1 << 16 }; /* lines; hypotheses in memory */

/* Leaves lines that are too long for the model empty, so that the others are translated; returns their number. */
static size_t leave_long(const model *m, const vocab *src, const beam_options *o, const input_part *in)
{
    size_t left = 0;
    for (size_t i = 0; i < in->n; i++) {
        err e = {0};
        if (!decode_check_reach(m, src, in->lines[i], o, &e)) continue;
        fprintf(stderr, "ablate translate: line %zu: printed an empty line: %s\n", in->first + i, e.text);
        in->lines[i] += strlen(in->lines[i]);
        left++;
    }
    return left;
}

/* Prints each line with the alignment of its output's words; no alignment if a side is empty. */
static int print_aligned(model *m, const vocab *src, const vocab *tgt, const input_part *in, char *const *out, err *e)
{
    align_settings how = {0};
    CLEANUP(pairs_free) pairs p = {0};
    AUTOFREE str *lines = xcalloc(in->n + 1, sizeof *lines);
    int bad = pairs_encode(&p, (const char *const *)in->lines, (const char *const *)out, (int64_t)in->n, src, tgt, e) ||
              align_pairs(&how, m, src, tgt, &p, lines, e);
    for (size_t i = 0; i < in->n; i++) {
        if (!bad) printf("%s ||| %s\n", out[i], str_text(&lines[i]));
        str_free(&lines[i]);
    }
    return bad;
}

static int translate_part(model *m, const vocab *src, const vocab *tgt, const beam_options *o, const input_part *in,
                          bool aligned, beam_stats *all, err *e)
{
    size_t n = in->n * (size_t)o->nbest;
    AUTOFREE double *scores = xcalloc(n + 1, sizeof *scores);
    char **out = NULL;
    beam_stats stats = {0};
    int bad = decode_lines(m, src, tgt, (const char *const *)in->lines, (int64_t)in->n, o, &out,
                           o->nbest > 1 ? scores : NULL, &stats, e);
    if (!bad && aligned) bad = print_aligned(m, src, tgt, in, out, e);
    for (size_t i = 0; i < n && !bad && !aligned; i++) {
        if (!out[i]) continue;
        if (o->nbest > 1)
            printf("%zu\t%.6f\t%s\n", in->first + i / (size_t)o->nbest, scores[i], out[i]);
        else
            printf("%s\n", out[i]);
    }
    beam_stats_add(all, &stats);
    if (out) decoded_free(out, (int64_t)n);
    return bad || output_flush(e) ? -1 : 0;
}

/* Also returns -1 if some lines were left empty; then *e has no text. */
int predict_translate(const predict_options *t, model *m, const vocab *src, const vocab *tgt, err *e)
{
    beam_options o = beam_options_of(&m->cfg);
    if (t->beam_size) o.beam_size = t->beam_size;
    if (t->length_penalty >= 0) o.length_penalty = t->length_penalty;
    if (t->batch) o.batch = t->batch;
    if (t->blockwise) o.block = t->blockwise, o.beam_size = 1;
    o.others = t->others, o.n_others = t->n_others;
    o.nbest = t->nbest ? t->nbest : 1;
    if (o.nbest > o.beam_size)
        return fail(e, "--nbest %lld: expected at most the beam's size, %lld", (long long)o.nbest,
                    (long long)o.beam_size);
    input_part in = {0};
    beam_stats stats = {0};
    size_t left = 0, most = (size_t)beam_batch(m, o.batch), largest = MOST_OUTPUTS / (size_t)o.nbest;
    if (largest > LARGEST_PART) largest = most > LARGEST_PART ? most : LARGEST_PART;
    int rc;
    while ((rc = input_next(&in, most, e)) == 1) {
        if ((rc = input_check_text(&in, e))) break;
        left += leave_long(m, src, &o, &in);
        if ((rc = translate_part(m, src, tgt, &o, &in, t->alignment, &stats, e))) break;
        most = input_more(&in, most, largest);
    }
    input_end(&in);
    if (!rc && stats.sentences && !t->quiet)
        fprintf(stderr, "%lld sentences, %lld tokens in %.2f s: %.0f tokens/s, %s\n", (long long)stats.sentences,
                (long long)stats.tokens, stats.seconds, (double)stats.tokens / stats.seconds, model_precision(m));
    if (!rc && stats.blocks && !t->quiet)
        fprintf(stderr, "%.2f tokens accepted per step and sentence, in blocks of %lld\n",
                (double)stats.accepted / (double)stats.blocks, (long long)o.block);
    return rc || left ? -1 : 0;
}
