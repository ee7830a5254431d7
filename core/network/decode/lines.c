/* lines.c - decodes lines of text to lines of text. */
#include "network/decode/beam.h"
#include "base/cleanup.h"

int decode_lines(model *m, const vocab *src, const vocab *tgt, const char *const *lines, int64_t n,
                 const beam_options *o, char ***out, double *scores, beam_stats *stats, err *e)
{
    CLEANUP(pairs_free) pairs p = {0};
    *out = NULL;
    if (pairs_encode(&p, lines, NULL, n, src, tgt, e)) return -1;
    int64_t all = o->nbest > 0 ? n * o->nbest : 0;
    AUTOFREE hypothesis *found = xcalloc((size_t)all + 1, sizeof *found);
    beam_options how = *o;
    how.unscored = !scores;
    int bad = beam_search(m, &p, &how, found, stats, e);
    if (!bad) *out = xcalloc((size_t)all + 1, sizeof **out);
    for (int64_t i = 0; i < all && !bad; i++) {
        if (scores) scores[i] = found[i].score;
        if (!found[i].ids) continue;
        CLEANUP(str_free) str text = {0};
        vocab_decode(tgt, found[i].ids, found[i].n, &text);
        (*out)[i] = xstrdup(str_text(&text));
    }
    hypotheses_free(found, all);
    return bad;
}

void decoded_free(char **text, int64_t n)
{
    if (text) free_texts(text, (size_t)n);
}

int decode_check_reach(const model *m, const vocab *src, const char *line, const beam_options *o, err *e)
{
    CLEANUP(id_list_free) id_list ids = {0};
    char why[128];
    int64_t n = vocab_encode(src, line, &ids, NULL) ? 0 : ids.n + 1;
    if (!n) return 0;
    snprintf(why, sizeof why, "outputs may be max_extra_tokens = %lld tokens longer than the line, which has %lld",
             (long long)o->max_extra_tokens, (long long)n);
    for (int64_t i = 0; i <= o->n_others; i++) {
        const model *one = i ? o->others[i - 1] : m;
        if (model_check_reach(one, n, "the line has that many tokens, including EOS", e) ||
            model_check_reach(one, n + o->max_extra_tokens, why, e))
            return -1;
    }
    return 0;
}
