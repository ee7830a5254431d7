/* T5's relative positions: a learned bias per head and bucket of the distance. Half of the buckets are single
 * distances; the others grow logarithmically up to max_distance, and all longer distances share the last. The encoder
 * has buckets for both directions, the decoder for the past only. */
#include "ab_plugin.h"
#include <math.h>

typedef struct {
    int64_t buckets, max_distance;
} config;
typedef struct {
    int64_t buckets, max_distance, both_ways;
} scheme;

static int64_t bucket_of(const scheme *s, int64_t relative)
{
    int64_t n = s->buckets, first = 0, distance = relative < 0 ? -relative : relative;
    if (s->both_ways) {
        n /= 2;
        if (relative > 0) first = n;
    } else if (relative > 0) {
        distance = 0;
    }
    int64_t exact = n / 2;
    if (distance < exact) return first + distance;
    if (distance >= s->max_distance) return first + n - 1;
    double share = log((double)distance / (double)exact) / log((double)s->max_distance / (double)exact);
    int64_t bucket = exact + (int64_t)(share * (double)(n - exact));
    return first + (bucket < n - 1 ? bucket : n - 1);
}

/* 1 if a relative position is in a bucket, else 0; i: bucket, relative position + max_distance */
static double belongs(const void *cfg, const int64_t *i)
{
    const scheme *s = cfg;
    return bucket_of(s, i[1] - s->max_distance) == i[0];
}

static ab_t bias(ab_ctx *c, const void *cfg, ab_t qpos, ab_t kpos)
{
    const config *o = cfg;
    const ab_info *in = ab_info(c);
    scheme s = {o->buckets, o->max_distance, in->role != AB_CAUSAL};
    /* [H,1,buckets] */
    ab_t learned = ab_weight(c, "rel_bias", -0.1, in->heads, 1, s.buckets);
    /* [H,1,distances] */
    ab_t by_distance = ab_matmul(c, learned, ab_table(c, belongs, &s, s.buckets, 2 * s.max_distance + 1), 0, 0);
    /* [H,Tq,distances] */
    ab_t each_query = ab_add(c, by_distance, ab_full(c, 0, ab_dim(c, qpos, -1), 1));
    return ab_gather(c, each_query, ab_clipped_relative_position(c, qpos, kpos, s.max_distance));
}

static const ab_option params[] = {{"buckets", AB_INT, offsetof(config, buckets), 32, 8, 512, 0,
                                    "buckets of distances, both directions together [buckets]"},
                                   {"max_distance", AB_INT, offsetof(config, max_distance), 128, 1, 4096, 0,
                                    "distances from here on share the last bucket [tokens]"},
                                   {0}};
static const ab_position_plugin self = {.claims = AB_RELATIVE, .bias = bias};
AB_PLUGIN(config, params, &self, .name = "t5", .doc = "learned bias on the scores per head and bucket of the distance",
          .paper = "Raffel et al. 2020 (T5), section 2.1");
