/* attention_context.h - state of one plugin call: role, sentences, caches and the sublayers that a block may call.
 *
 * The model fills an attn_context before each call and points c->attn at it.
 */
#ifndef ABLATE_ATTENTION_CONTEXT_H
#define ABLATE_ATTENTION_CONTEXT_H
#include "network/plugin/host.h"

/* Each full name of a learned value has one owner: a kind of plugin, or AB_NO_KIND (the host). */
typedef struct owned_name {
    const char *name;
    ab_kind by;
    struct owned_name *next;
} owned_name;
/* A value available to later layers of the stack. */
typedef struct shared_value {
    const char *name; /* "enc.self" plus the name that the plugin chose */
    ab_kind by;
    ab_t value;
    struct shared_value *next;
} shared_value;
/* Scores restricted to some keys per query, traced by ab_window and ab_key_blocks. */
typedef struct narrowed {
    int32_t result, scores; /* nodes: the restricted and the unrestricted scores */
    ab_t by;                /* bounds [B or 1,1,Tq,2], or blocks [B or 1,H or 1,Tq or 1,n]: above 0 if chosen */
    int64_t block;          /* keys per block; 0: `by` has bounds */
    struct narrowed *next;
} narrowed;
/* Weights that ab_softmax_sink or ab_entmax composed of several operations. */
typedef struct traced_weights {
    int32_t result, scores; /* nodes: the weights, and the scores that these are computed from */
    int kind;               /* a weights_kind (graph/score.h) */
    ab_t sink;              /* the sink; id 0: no sink */
    struct traced_weights *next;
} traced_weights;
typedef struct key_value { /* keys and values of one fused attention: nodes before caching */
    int32_t k, v;
    struct key_value *next;
} key_value;

/* The functions that a block's, attention's or head's calls of sublayers run. name: the part after the layer's name. */
typedef struct layer_calls {
    ab_t (*attention)(ab_ctx *c, ab_t x, bool cross);
    ab_t (*feed_forward)(ab_ctx *c, ab_t x, const char *name);
    /* add: a term with dropout to add before the norm, or NULL */
    ab_t (*norm)(ab_ctx *c, ab_t x, const ab_t *add, const char *name);
    ab_t (*call)(ab_ctx *c, const char *name, ab_t x, ab_t mem); /* for attentions: calls another in the same role */
    ab_t (*token_vectors)(ab_ctx *c);                            /* for a head: table of the softmax */
    ab_t (*teacher)(ab_ctx *c);                                  /* for a head: the teacher's logits */
    ab_t (*own_layer)(ab_ctx *c, ab_t x, const char *name);      /* for a head: a layer below `name` */
} layer_calls;

struct attn_context {
    ab_info info;
    const ab_position_plugin *pos;
    const void *pos_cfg;
    const char *plugin;            /* the running plugin's name, for what it records */
    ab_t tokens;                   /* ids [rows] of x's tokens; id 0: not known */
    bool bias;                     /* projections have biases */
    double query_factor;           /* factor on queries; 0: no factor */
    bool queried;                  /* ab_query, which applies query_factor, has been called */
    bool separate_init;            /* Glorot initialisation of q, k and v separately, not of the fused matrix */
    bool keep_weights;             /* softmaxes over keys are kept as SCOPE.weights [B,H,Tq,Tk] */
    bool mixes_tokens;             /* the feed-forward or block claims AB_MIXES_TOKENS and may see sentences */
    bool generic;                  /* never fuse, so that the conformance check can compare both forms */
    ab_t x, mem;                   /* the plugin's rows; id 0 in a position's `embed`: only info is set */
    int64_t q_rows, k_rows;        /* rows of x and of mem */
    int64_t batch, q_time, k_time; /* B, longest query sentence Tq, and longest key sentence Tk */
    ab_t q_off, k_off;             /* ids [B+1]: first row of each sentence */
    ab_t qpos, kpos;               /* ids [Tq] and ids [Tk] */
    ab_t klen;                     /* ids [B]: keys of each sentence */
    /* a decoding step: in self-attention each hypothesis is a sentence with one query; in cross-attention each source
     * sentence has its `beam` hypotheses as queries, all at one position */
    bool decode;
    int64_t capacity, cache_rows;  /* steps and rows of a cache */
    int64_t seen;                  /* T of cached tensors: at least the number of steps so far, this step included */
    ab_t ancestors, parents, time; /* ids [R,capacity], [R], [1] */
    int64_t n_remembered;          /* number of tensors that this call has cached; part of their names */
    int32_t culprit;               /* the node that prevents fusion, and the reason; NULL: not known */
    const char *because;
    ab_t weights, summed;           /* weights and result of the latest fused attention (attn_fused_sum) */
    ab_t values, value_rows;        /* values: [B,n,Tk,d], summed over keys; value_rows: result of ab_value */
    bool several_values;            /* this call sums different values over keys */
    int64_t n_carried;              /* number of states that this call has made; part of their names */
    ab_t joined;                    /* the fused projection, once made: q, k, v of x, or k, v of mem */
    narrowed *narrowed;             /* restricted scores of this call */
    traced_weights *weights_traced; /* composed weights of this call */
    key_value *attended;            /* fused keys and values of this call; every pair has its own cache */
    double residual_dropout;        /* dropout of the output before the residual addition */
    const layer_calls *layer;       /* in a block: its sublayers; in an attention: the attentions that it calls */
    const char *const *calls;       /* names of the attentions that this one may call; NULL: no names */
    int depth;                      /* how deeply attentions that call one another are nested */
    const char *called[8];          /* scopes of the attentions called so far */
};

bool attn_scales_queries(ab_ctx *c);      /* scales queries by query_factor; else false and an error */
void attn_note_values(ab_ctx *c, ab_t v); /* records the values of a sum over keys */
/* The weighted sum p v as one fused operation (attention_scores.c); id 0: p cannot be fused. */
ab_t attn_fused_sum(ab_ctx *c, ab_t p, ab_t v);
/* Returns sum, which is y plus the position's `values`: as one operation with y if y is fused and `values` adds a table
 * of vectors by id. */
ab_t attn_fused_values(ab_ctx *c, ab_t y, ab_t sum);
struct score_program;
typedef struct {
    const struct score_program *f;
    ab_t leaf[4], ids;
    double scale, dropout;
    int64_t place; /* the dropout's number (DROPOUT in op.h) */
    bool causal;
} attn_program;
/* q, k [maps]: queries and keys of each map of program f. */
ab_t attn_attend_program(ab_ctx *c, const ab_t *q, const ab_t *k, ab_t v, const attn_program *f);
ab_t attn_carried(ab_ctx *c, int64_t a, int64_t b, int64_t d, int64_t e); /* a decoding state, which begins as zeros */
/* in a decoding step: adds `now` [rows,..] to the sum carried by each row's parent */
ab_t attn_carried_sum(ab_ctx *c, ab_t now);
ab_t attn_zeros(ab_ctx *c, int64_t a, int64_t b, int64_t d, int64_t e);
ab_t attn_has_key(ab_ctx *c); /* [B,1,Tk,1]: 1 where the sentence has a key */

/* Each row becomes the row `by` places later in its sentence, or zeros. Decoders may call it, too, for targets. */
ab_t attn_ahead(ab_ctx *c, ab_t rows, int64_t by);

bool attn_is_causal(const ab_ctx *c);
bool attn_is_self(const ab_ctx *c);                      /* are x and mem the same rows? */
ab_t attn_offsets(ab_ctx *c, bool query_side);           /* ids [B+1] */
const char *attn_full_name(ab_ctx *c, const char *name); /* below the current scope */
bool attn_steps(const ab_ctx *c); /* is this a decoding step in which the call sees one position per hypothesis? */
/* Finds the sentences of rows computed from x or from mem. Other rows give false and an error. */
typedef struct {
    ab_t offset;
    int64_t rows, time; /* time: tokens of the longest sentence */
} attn_sentences;
bool attn_sentences_of(ab_ctx *c, ab_t rows, attn_sentences *s);
ab_t attn_pack_as(ab_ctx *c, ab_t x, const attn_sentences *s); /* [1,B,T,n] -> rows [s->rows,n] */
/* Checks that a recurrence may run over x. Returns false and sets an error if not. */
bool attn_may_scan(ab_ctx *c, ab_t x, int backwards);

/* ---- side effects of a plugin's call (records.c) ---- */
ab_t attn_noise(ab_ctx *c, bool normal, const int64_t dim[4]);
/* most: largest allowed number of the value's elements */
void attn_record(ab_ctx *c, const char *function, const char *name, ab_t value, double weight, int most);

ab_kind hook_owner(ab_hook h); /* the kind of plugin that the hook belongs to; AB_NO_KIND: the host */
/* Sets the hook that runs from now on. Returns the previous one, for the caller to restore. */
ab_hook enter_hook(ab_ctx *c, ab_hook next);
/* Claims the name for the current hook's kind. Returns false and sets an error if another kind owns the name. */
bool attn_claim(ab_ctx *c, const char *name);
/* attn_param: a learned value below the current scope. attn_linear: a product with such a matrix [n, wide], initialised
 * by Glorot's uniform rule. */
ab_t attn_param(ab_ctx *c, const char *name, const int64_t dim[4], double scale, double fill);
ab_t attn_linear(ab_ctx *c, ab_t x, const char *name, int64_t width, int64_t wide, int bias, int relu);
typedef struct {
    ab_t w, b; /* [n,width]; [width], or id 0 */
} attn_weights;
attn_weights attn_linear_weights(ab_ctx *c, const char *name, int64_t n, int64_t width, int64_t wide, int bias);
#endif
