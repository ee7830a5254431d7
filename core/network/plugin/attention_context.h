/* attention_context.h - the place and mode in which a plugin is called: the state behind the attention context and a
 * block's calls of its sublayers.
 *
 * The model fills one before each call of a plugin and points c->attn at it.
 */
#ifndef ABLATE_ATTENTION_CONTEXT_H
#define ABLATE_ATTENTION_CONTEXT_H
#include "network/plugin/host.h"

/* Owner of a learned value's name: each full name has one owner, a kind of plugin or AB_NO_KIND (the host). */
typedef struct owned_name {
    const char *name;
    ab_kind by;
    struct owned_name *next;
} owned_name;
/* A value available to later layers of the stack. */
typedef struct shared_value {
    const char *name; /* "enc.self" and the plugin's own name for it */
    ab_kind by;
    ab_t value;
    struct shared_value *next;
} shared_value;
/* Scores restricted to some keys per query, traced by ab_window and ab_key_blocks. */
typedef struct narrowed {
    int32_t result, scores; /* nodes: the restricted scores, the scores before */
    ab_t by;                /* bounds [B or 1,1,Tq,2], or blocks [B or 1,H or 1,Tq or 1,n] that are above 0 */
    int64_t block;          /* keys of a block; 0: bounds */
    struct narrowed *next;
} narrowed;
/* Weights composed of several operations, traced by ab_softmax_sink and ab_entmax. */
typedef struct traced_weights {
    int32_t result, scores; /* nodes: weights, and the scores they are computed from */
    int kind;               /* a weights_kind (graph/score.h) */
    ab_t sink;              /* id 0: none */
    struct traced_weights *next;
} traced_weights;
typedef struct key_value { /* a pair used by fused attention: nodes before caching */
    int32_t k, v;
    struct key_value *next;
} key_value;

/* The sublayers that a block's functions call; filled by the model. name: below the layer. */
typedef struct layer_calls {
    ab_t (*attention)(ab_ctx *c, ab_t x, bool cross);
    ab_t (*feed_forward)(ab_ctx *c, ab_t x, const char *name);
    /* add: NULL, or the term added first, with dropout */
    ab_t (*norm)(ab_ctx *c, ab_t x, const ab_t *add, const char *name);
    ab_t (*call)(ab_ctx *c, const char *name, ab_t x, ab_t mem); /* attention: calls another attention in its place */
    ab_t (*token_vectors)(ab_ctx *c);                            /* head: the softmax's table */
    ab_t (*teacher)(ab_ctx *c);                                  /* head: the teacher's logits */
    ab_t (*own_layer)(ab_ctx *c, ab_t x, const char *name);      /* head: a layer below this name */
} layer_calls;

struct attn_context {
    ab_info info;
    const ab_position_plugin *pos;
    const void *pos_cfg;
    const char *plugin;            /* name of the plugin being called, for what it records */
    ab_t tokens;                   /* ids [rows] of x's rows; id 0: not known */
    bool bias;                     /* projections have biases */
    double query_factor;           /* factor on queries; 0: none */
    bool queried;                  /* ab_query has been called, which multiplies */
    bool separate_init;            /* Glorot initialisation of q, k and v separately, not of the fused matrix */
    bool keep_weights;             /* keep softmaxes over keys by name: SCOPE.weights [B,H,Tq,Tk] */
    bool mixes_tokens;             /* claims AB_MIXES_TOKENS: a feed-forward or block may see sentences */
    bool generic;                  /* never fuse: the conformance check compares both forms */
    ab_t x, mem;                   /* rows given to the plugin; id 0: embedding, only info is set */
    int64_t q_rows, k_rows;        /* rows of x and of mem */
    int64_t batch, q_time, k_time; /* B, longest query sentence Tq, longest key sentence Tk */
    ab_t q_off, k_off;             /* ids [B+1]: first row of each sentence */
    ab_t qpos, kpos;               /* ids [Tq], [Tk] */
    ab_t klen;                     /* ids [B]: keys of each sentence */
    /* a decoding step; in self-attention each hypothesis is a sentence of one query, in cross-attention each
     * source sentence has its `beam` hypotheses as queries, all at the same position */
    bool decode;
    int64_t capacity, cache_rows;  /* steps and rows that a cache can hold */
    int64_t seen;                  /* T of cached tensors: at least the steps so far, including this one */
    ab_t ancestors, parents, time; /* ids [R,capacity], [R], [1] */
    int64_t n_remembered;          /* tensors cached by this call so far, which numbers their names */
    int32_t culprit;               /* weights that cannot be fused: at which node, and why; NULL: not known */
    const char *because;
    ab_t weights, summed;           /* weights and result of the last fused attention: attn_fused_sum */
    ab_t values, value_rows;        /* [B,n,Tk,d]: the values of a sum over keys; the result of ab_value */
    bool several_values;            /* sums of this call have different values */
    int64_t n_carried;              /* states made by this call so far, which numbers their names */
    ab_t joined;                    /* the fused projection made so far: q,k,v of x, or k,v of mem */
    narrowed *narrowed;             /* scores of this call so far */
    traced_weights *weights_traced; /* likewise */
    key_value *attended;            /* pairs of this call so far: each has its cache */
    double residual_dropout;        /* dropout before adding to the residual stream */
    const layer_calls *layer;       /* in a block: its sublayers; in an attention: the attentions it calls */
    const char *const *calls;       /* names of the attentions that this one may call, or NULL */
    int depth;                      /* nesting of attentions that call each other */
    const char *called[8];          /* scopes of the attentions that it has called so far */
};

bool attn_scales_queries(ab_ctx *c);      /* scales queries by the parametrisation's factor; else false and an error */
void attn_note_values(ab_ctx *c, ab_t v); /* records the values of a sum over keys */
/* attention_scores.c: the weighted sum as one fused operation; id 0: p cannot be fused. */
ab_t attn_fused_sum(ab_ctx *c, ab_t p, ab_t v);
/* sum: y after the position's `values`. If y is fused and `values` adds a table of vectors by id, returns both as one
 * operation; else sum. */
ab_t attn_fused_values(ab_ctx *c, ab_t y, ab_t sum);
struct score_program;
typedef struct {
    const struct score_program *f;
    ab_t leaf[4], ids;
    double scale, dropout;
    int64_t place; /* dropout's place */
    bool causal;
} attn_program;
/* q, k: those of each map of the program. */
ab_t attn_attend_program(ab_ctx *c, const ab_t *q, const ab_t *k, ab_t v, const attn_program *f);
ab_t attn_carried(ab_ctx *c, int64_t a, int64_t b, int64_t d, int64_t e); /* a decoding state, initially zero */
/* in a decoding step: adds now [rows,..] to the sum carried by each row's parent */
ab_t attn_carried_sum(ab_ctx *c, ab_t now);
ab_t attn_zeros(ab_ctx *c, int64_t a, int64_t b, int64_t d, int64_t e);
ab_t attn_has_key(ab_ctx *c); /* [B,1,Tk,1]: 1 where the sentence has a key */

/* Each row gets the row `by` places later in its sentence, or zeros. Allowed in decoders, too, for targets. */
ab_t attn_ahead(ab_ctx *c, ab_t rows, int64_t by);

bool attn_is_causal(const ab_ctx *c);
bool attn_is_self(const ab_ctx *c);                      /* are x and mem the same rows? */
ab_t attn_offsets(ab_ctx *c, bool query_side);           /* ids [B+1] */
const char *attn_full_name(ab_ctx *c, const char *name); /* below the current scope */
bool attn_steps(const ab_ctx *c); /* a decoding step, in which this call sees one position per hypothesis */
/* The sentences of rows computed from x or from mem; false and an error for other rows. */
typedef struct {
    ab_t offset;
    int64_t rows, time; /* time: the longest */
} attn_sentences;
bool attn_sentences_of(ab_ctx *c, ab_t rows, attn_sentences *s);
ab_t attn_pack_as(ab_ctx *c, ab_t x, const attn_sentences *s); /* [1,B,T,n] -> rows [s->rows,n] */
/* Checks that a recurrence may run over x; else false and an error. */
bool attn_may_scan(ab_ctx *c, ab_t x, int backwards);

/* records.c: side effects of a plugin's call. */
ab_t attn_noise(ab_ctx *c, bool normal, const int64_t dim[4]);
/* most: the most numbers that the value may have */
void attn_record(ab_ctx *c, const char *function, const char *name, ab_t value, double weight, int most);

ab_kind hook_owner(ab_hook h); /* the kind of plugin that the hook belongs to; AB_NO_KIND: the host */
/* Sets the plugin function that runs now; returns the previous one, to be restored later. */
ab_hook enter_hook(ab_ctx *c, ab_hook next);
/* Claims the name for the owner of the current hook; false and an error if it has another owner. */
bool attn_claim(ab_ctx *c, const char *name);
/* A learned value below the current scope; a product with one, with Glorot uniform initialisation for a matrix
 * [n, wide]. */
ab_t attn_param(ab_ctx *c, const char *name, const int64_t dim[4], double scale, double fill);
ab_t attn_linear(ab_ctx *c, ab_t x, const char *name, int64_t width, int64_t wide, int bias, int relu);
typedef struct {
    ab_t w, b; /* [n,width]; [width], or id 0 */
} attn_weights;
attn_weights attn_linear_weights(ab_ctx *c, const char *name, int64_t n, int64_t width, int64_t wide, int bias);
#endif
