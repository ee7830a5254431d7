/* config.h - the settings of a run: the typed struct, the table that describes every key, and binding text to structs.
 *
 * A new core key needs one line in `config` here and one in config_params (keys.c); INI schema, defaults, ranges,
 * reference and hash follow. Keys that name plugins come from AB_KINDS.
 *
 * Ownership: texts and arrays live in the arena passed to the function (or in the spec's, see spec.h).
 * Source of the defaults: "the paper" is Vaswani et al. 2017, Attention Is All You Need.
 */
#ifndef ABLATE_CONFIG_H
#define ABLATE_CONFIG_H
#include "api/ab_plugin.h"
#include "base/base.h"

enum { CONFIG_AUTO = -1 }; /* value of "auto" or "same" in an integer key, until config_resolve replaces it */
enum config_smoothing { SMOOTH_ALL, SMOOTH_OTHERS };
enum config_share { SHARE_ALL, SHARE_TARGET, SHARE_NONE };
enum config_qkv_init { QKV_FUSED, QKV_SEPARATE };
enum config_parametrization { PARAMETRIZATION_STANDARD, PARAMETRIZATION_MUP };
enum config_vocab { VOCAB_BPE, VOCAB_UNIGRAM, VOCAB_WORDS, VOCAB_CHAR, VOCAB_WORDPIECE };
enum config_precision { PRECISION_AUTO, PRECISION_FP32, PRECISION_BF16 };
enum config_select { SELECT_LAST, SELECT_BEST };
enum config_split { DECODE_DEV, DECODE_TEST, DECODE_BOTH, DECODE_NONE };

/* Every core key of one run, in the order of config_params. Integers, booleans and choices are int64_t
 * (ab_plugin.h). */
typedef struct config {
    /* plugins: a name, or the path of a plugin's file */
    const char *task, *attention;
    const char *attention_encoder, *attention_decoder, *attention_cross; /* never "same" once resolved */
#define CONFIG_KIND(NAME, name, ...) const char *name;
    AB_MODEL_KINDS(CONFIG_KIND)
#undef CONFIG_KIND
    const char *plugin_path; /* additional plugin folders, separated by colons; "": no such folder */
    /* model (recipe of the paper, sections 3 and 5.4) */
    int64_t layers, layers_encoder, layers_decoder; /* all but `layers` are never CONFIG_AUTO once resolved */
    int64_t d_model, d_ff, heads;
    int64_t d_k, d_v;                                      /* per head; never CONFIG_AUTO once resolved */
    double dropout, attention_dropout, activation_dropout; /* probabilities that a value is replaced by 0 */
    double word_dropout;                                   /* probability that a source token becomes <unk> */
    double label_smoothing;                                /* eps */
    int64_t label_smoothing_over;                          /* enum config_smoothing */
    int64_t char_ngrams;                                   /* vectors of hashed n-grams; 0: no n-grams */
    int64_t share_embeddings;                              /* enum config_share */
    int64_t bias;                                          /* 1: q, k, v and o projections have biases */
    int64_t qkv_init;                                      /* enum config_qkv_init */
    int64_t parametrization;                               /* enum config_parametrization */
    int64_t base_d_model, base_d_k, base_layers;           /* base width, d_k and layers of mup; 0: not given */
    /* text */
    int64_t vocab;      /* enum config_vocab */
    int64_t vocab_size; /* tokens, special ones included */
    int64_t max_length; /* tokens per side; longer training pairs are skipped */
    int64_t lowercase;
    /* training */
    int64_t precision; /* enum config_precision */
    double lr, lr_min;
    int64_t warmup, steps;          /* updates */
    int64_t batch_tokens;           /* maximum source tokens, and maximum target tokens, of a batch */
    int64_t gradient_accumulation;  /* batches per update */
    double clip_norm;               /* 0: off */
    int64_t start_step;             /* the step of the state in start_from; 0: start_from is no state */
    const char *start_from;         /* a model file; "": no file, new values */
    const char *teacher;            /* a model file; "": no teacher */
    const char *parameter_groups;   /* syntax: model/groups.h; "": no groups */
    int64_t eval_every, save_every; /* updates */
    int64_t watch_layers;
    int64_t keep_checkpoints;    /* checkpoints kept */
    int64_t keep_states;         /* number of states kept; 0: only the last */
    int64_t average_checkpoints; /* number of checkpoints averaged; 1: no averaging */
    int64_t patience;            /* evaluations without a new best before training stops; 0: off */
    const char *max_time;        /* limit on the time of all updates, as config_seconds reads it; "0": no limit */
    int64_t checkpoint;          /* enum config_select */
    int64_t seed;                /* not an INI key: the sweep sets it from `seeds` */
    /* decoding */
    int64_t decode_split; /* enum config_split */
    int64_t beam_size;
    double length_penalty;
    int64_t max_extra_tokens; /* tokens beyond the source's length */
    int64_t decode_batch;     /* sentences */
    const char *contrast;     /* a file (text/data/contrasts.h); "": no file */
    /* machine */
    const char *device; /* auto, cpu, cuda, cuda:N */
    int64_t threads;    /* 0: all */
    int64_t ranks;      /* processes that share each batch */
} config;

extern const ab_option config_params[]; /* ends with {0} */

/* A kind's facts from AB_KINDS: name and key, default plugin, first minor ABI version. Indexed by kind; [AB_NO_KIND] is
 * the host. */
typedef struct {
    const char *name, *usual;
    uint32_t since;
} kind_facts;
extern const kind_facts config_kinds[AB_KIND_COUNT];
extern const char *const config_attention_keys[3]; /* encoder, decoder, cross-attention */

/* The kind of plugin that a key selects ("attention" for attention, attention_cross, layers.decoder.1.attention, ...),
 * or NULL for other keys. */
const char *config_plugin_kind(const char *key);
/* Is the key hashed? Keys that cannot change a result are not: device, threads, plugin_path, decode_batch, seed. */
bool config_is_hashed(const char *key);
/* Is the key at its default, and was it added after runs had been hashed? Such a key is not hashed. */
bool config_came_later(const char *key, const char *value);
/* Keys that were renamed; ends with {0}. Hashes use the old names, so that earlier runs keep their hashes. */
typedef struct {
    const char *old, *now;
} renamed_key;
extern const renamed_key config_renamed[];
const char *config_new_name(const char *key);   /* the new name of an old key; NULL for other keys */
const char *config_first_name(const char *key); /* a renamed key's old name, or the key itself */
/* A model that another run has trained, in a run's folder; the runs may differ in the keys of config_only_decodes. */
#define TRAINED_FILE "trained"
bool config_only_decodes(const char *key); /* keys that a trained model does not depend on; device and threads, too */
void config_decode_keys(str *out);         /* appends these keys as a JSON array */
/* Does the key set how often something is written or measured? Tables do not show such a key as a row's change. */
bool config_is_bookkeeping(const char *key);

/* ---- settings: ordered key -> canonical value text ---- */

typedef struct {
    const char *key, *value;
} setting;
typedef struct {
    setting *at;
    size_t n, cap;
} settings; /* {0} is empty; `at` is in the arena that fills it */

const char *settings_get(const settings *s, const char *key); /* NULL: s has no such key */
/* Sets the key's value, or appends the pair. Both texts are copied into `a`. */
void settings_set(settings *s, const char *key, const char *value, arena *a);

/* ---- one parameter ---- */

const ab_option *param_find(const ab_option *table, const char *name); /* NULL: none; table may be NULL */
/* Checks `text` against p's type, range and choices; the canonical form (1e3 = 1000, 0.10 = 0.1, yes = true) goes to
 * *out, in `a`. -1 and a message ("found ..., expected ...") without file or key. */
int param_canonical(const ab_option *p, const char *text, const char **out, arena *a, err *e);
const char *param_default(const ab_option *p, arena *a); /* canonical text of the default */
const char *param_expects(const ab_option *p, arena *a); /* "an integer from 1 to 64", "post or pre", ... */

/* ---- binding ---- */

/* Fills the struct described by `table` (large enough for its offsets): defaults first, then every
 * setting whose key is `prefix`.name (prefix NULL: core keys, which have no dot). Values are checked as
 * above. An unknown key with this prefix is an error. Texts are copied into `a`. */
int config_bind(const settings *s, const char *prefix, const ab_option *table, void *out, arena *a, err *e);
/* The inverse: appends every parameter of the table as canonical text to `s`. */
void config_unbind(const void *from, const char *prefix, const ab_option *table, settings *s, arena *a);

/* Converts "90s", "30m", "3h", "2d", "1h30m" or "0" to seconds. Other text: -1 and a message without the key. */
int config_seconds(const char *text, double *out, err *e);

/* Checks the name of an experiment, which also names a folder: letters, digits, _ - and . ; at most 100 bytes. Returns
 * -1 and a message without file or key. */
int experiment_name_check(const char *name, err *e);

/* Calls config_bind for the core keys, then config_resolve. */
int config_from_settings(const settings *s, config *out, arena *a, err *e);
/* Replaces auto and same: d_k, d_v = d_model / heads (an error unless it divides evenly), layers_*,
 * attention_*. Checks constraints between keys. */
int config_resolve(config *c, err *e);

/* Writes the settings as one flat JSON object, typed: {"task":"translation","layers":6,"rotary.base":10000}. `table_of`
 * returns the parameter of a dotted key, or NULL (then the value is written as text); it may be NULL itself. */
typedef const ab_option *(*param_lookup)(void *user, const char *key);
void config_to_json(const settings *s, param_lookup table_of, void *user, str *out);
/* Reads the object that config_to_json writes, as stored with a run; old names of keys become the new ones. */
int config_from_json(const char *json, settings *out, arena *a, err *e);

/* ---- files of other runs (run_file.c) ---- */

/* Returns the part EXPERIMENT/CONFIGURATION-sSEED-gN/FILE of the path of a run's file with this seed (-1: any); NULL
 * for other paths. */
const char *run_file_name(const char *path, int64_t seed);
bool config_names_run(const char *key); /* can the value of this key (start_from, teacher) name a run? */
/* Returns the key's value without the path of the folder of runs, which may move. */
const char *config_unmoved(const char *key, const char *value);
/* Returns a run's file under the folder `runs`; `value` itself if it is no run's file. */
const char *run_file_below(const char *runs, const char *value, arena *a);
/* Applies run_file_below to start_from and teacher. runs NULL: the folder two above `folder`, which is a run's. */
void config_find_runs(config *c, const char *runs, const char *folder, arena *a);

/* sha256 of the hashed settings, as "key=value\n" sorted by key. Renamed keys count under their first names. */
void config_hash(const settings *s, char out[65]);
#endif
