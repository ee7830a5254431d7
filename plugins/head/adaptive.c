/* adaptive.c - a softmax in two steps: over a short list of tokens and a few clusters of the others, then within each
 * cluster, in fewer columns. Its logits are the log-probabilities. */
#include "log_sum.h"
#include <math.h>
#include <stdio.h>

typedef struct {
    int64_t clusters, factor;
    double share;
} config;

static ab_t too_few(ab_ctx *c, const config *o, int64_t tokens, int64_t n)
{
    char text[256];
    snprintf(text, sizeof text,
             "adaptive.clusters = %lld: adaptive.short = %g leaves %lld of the vocabulary's %lld tokens for them, "
             "expected %lld or more",
             (long long)o->clusters, o->share, (long long)(tokens - n), (long long)tokens, (long long)o->clusters);
    return ab_fail(c, text);
}

/* Logits of the first n tokens and of each cluster, [rows,n+clusters]: the tokens' vectors are those of the embedding,
 * if shared. */
static ab_t first_step(ab_ctx *c, const config *o, ab_t x, int64_t n)
{
    int64_t d = ab_dim(c, x, -1);
    double deviation = 1 / sqrt((double)d);
    ab_t tokens =
        ab_info(c)->tied ? ab_slice(c, ab_token_vectors(c), -2, 0, n) : ab_weight(c, "short", -deviation, n, d);
    ab_t clusters = ab_weight(c, "clusters", -deviation, o->clusters, d);
    return ab_matmul(c, x, ab_concat(c, tokens, clusters, -2), 0, 1);
}

/* Logits within cluster i = 1, 2, ... [rows,n], from d_model / factor^i columns (at least 1). */
static ab_t second_step(ab_ctx *c, const config *o, ab_t x, int64_t i, int64_t n)
{
    char narrow[32], tail[32];
    int64_t columns = ab_dim(c, x, -1);
    for (int64_t k = 0; k < i; k++) columns /= o->factor;
    snprintf(narrow, sizeof narrow, "narrow_%d", (int)i);
    snprintf(tail, sizeof tail, "tail_%d", (int)i);
    return ab_linear(c, ab_linear(c, x, narrow, columns > 1 ? columns : 1, 0), tail, n, 0);
}

static ab_t logits(ab_ctx *c, const void *cfg, ab_t x)
{
    const config *o = cfg;
    int64_t tokens = ab_info(c)->vocabulary, n = (int64_t)(o->share * (double)tokens + 0.5);
    if (n < 1) n = 1;
    if (tokens - n < o->clusters) return too_few(c, o, tokens, n);
    ab_t first = first_step(c, o, x, n);
    first = ab_sub(c, first, log_sum_exp(c, first));
    ab_t y = ab_slice(c, first, -1, 0, n);
    for (int64_t i = 1, from = n; i <= o->clusters; i++) {
        int64_t to = n + (tokens - n) * i / o->clusters;
        ab_t tail = second_step(c, o, x, i, to - from), cluster = ab_slice(c, first, -1, n + i - 1, 1);
        y = ab_concat(c, y, ab_add(c, tail, ab_sub(c, cluster, log_sum_exp(c, tail))), -1);
        from = to;
    }
    return y;
}

static const ab_head_plugin self = {.logits = logits};
static const ab_option options[] = {
    {"clusters", AB_INT, offsetof(config, clusters), 2, 1, 4, NULL,
     "tails, equal parts of the tokens behind the short list, in the vocabulary's order"},
    {"short", AB_REAL, offsetof(config, share), 0.2, 0.001, 0.8, NULL,
     "share of the vocabulary in the short list, its first tokens: the most frequent ones of words, char and unigram"},
    {"factor", AB_INT, offsetof(config, factor), 4, 1, 64, NULL, "tail i has d_model / factor^i columns, at least one"},
    {0}};
AB_PLUGIN(config, options, &self, .name = "adaptive",
          .doc = "a short list and clusters of rarer tokens, in fewer columns: fewer parameters, not less time",
          .paper = "Grave et al. 2017, section 4");
