/* cases.h - descriptions of plugins for the tests, and a dump of a spec. No plugin code runs. */
#ifndef CASES_H
#define CASES_H
#include "lab/config/spec.h"
#include <string.h>

typedef struct {
    const char *data, *languages;
    const char *dev, *test;
    int64_t first_pairs;
} translation_cfg;
typedef struct {
    const char *data, *train, *dev, *test, *wsj, *silver;
    int64_t linearisation, constrained, gold_repeat;
} parsing_cfg;
typedef struct {
    int64_t kind, alphabet, min_length, max_length, test_length, test_step, train_examples, test_examples, data_seed;
} sequence_cfg;
typedef struct {
    int64_t width, period;
} width_cfg;
typedef struct {
    int64_t width, glu, growth, separable;
} convolutional_cfg;
typedef struct {
    double base;
} base_cfg;
typedef struct {
    double beta1, beta2, eps, decay;
} adam_cfg;
typedef struct {
    const char *file;
    int64_t unit, context, max_len;
    double std;
} lm_cfg;
typedef struct {
    int64_t kind, vocab, length, pairs, train_examples, test_examples, data_seed;
} recall_cfg;

static const ab_option sequence_params[] = {
    {"kind", AB_CHOICE, offsetof(sequence_cfg, kind), 0, 0, 0, "copy|reverse|sort|recall", "what the output is"},
    {"alphabet", AB_INT, offsetof(sequence_cfg, alphabet), 16, 2, 1000, NULL, "letters"},
    {"min_length", AB_INT, offsetof(sequence_cfg, min_length), 1, 1, 1000, NULL, "shortest"},
    {"max_length", AB_INT, offsetof(sequence_cfg, max_length), 20, 1, 1000, NULL, "longest in training"},
    {"test_length", AB_INT, offsetof(sequence_cfg, test_length), 40, 1, 1000, NULL, "longest in test"},
    {"test_step", AB_INT, offsetof(sequence_cfg, test_step), 0, 0, 1000, NULL, "lengths scored together"},
    {"train_examples", AB_INT, offsetof(sequence_cfg, train_examples), 20000, 1, 1000000, NULL, "examples"},
    {"test_examples", AB_INT, offsetof(sequence_cfg, test_examples), 1000, 1, 1000000, NULL, "examples"},
    {"data_seed", AB_INT, offsetof(sequence_cfg, data_seed), 1, 0, 1e9, "run", "of the data"},
    {0}};
static const ab_option translation_params[] = {
    {"data", AB_TEXT, offsetof(translation_cfg, data), 0, 0, 0, "synthetic", "corpus"},
    {"languages", AB_TEXT, offsetof(translation_cfg, languages), 0, 0, 0, "en, de", "source and target language"},
    {"dev", AB_TEXT, offsetof(translation_cfg, dev), 0, 0, 0, "auto", "dev set"},
    {"test", AB_TEXT, offsetof(translation_cfg, test), 0, 0, 0, "auto", "test set"},
    {"first_pairs", AB_INT, offsetof(translation_cfg, first_pairs), 0, 0, 1e9, NULL, "of the training set"},
    {0}};
static const ab_option parsing_params[] = {
    {"data", AB_TEXT, offsetof(parsing_cfg, data), 0, 0, 0, "craft", "treebank"},
    {"train", AB_TEXT, offsetof(parsing_cfg, train), 0, 0, 0, "auto", "training trees"},
    {"dev", AB_TEXT, offsetof(parsing_cfg, dev), 0, 0, 0, "auto", "dev trees"},
    {"test", AB_TEXT, offsetof(parsing_cfg, test), 0, 0, 0, "auto", "test trees"},
    {"wsj", AB_TEXT, offsetof(parsing_cfg, wsj), 0, 0, 0, "", "folder of the sections"},
    {"silver", AB_TEXT, offsetof(parsing_cfg, silver), 0, 0, 0, "", "further training trees"},
    {"gold_repeat", AB_INT, offsetof(parsing_cfg, gold_repeat), 1, 1, 1000, NULL, "gold trees so many times [times]"},
    {"linearisation", AB_CHOICE, offsetof(parsing_cfg, linearisation), 2, 0, 0, "labels|xx|words|in_order", "output"},
    {"constrained", AB_BOOL, offsetof(parsing_cfg, constrained), 1, 0, 0, NULL, "decode under constraints"},
    {0}};
static const ab_option lm_params[] = {
    {"file", AB_TEXT, offsetof(lm_cfg, file), 0, 0, 0, "text", "to train on"},
    {"unit", AB_CHOICE, offsetof(lm_cfg, unit), 0, 0, 0, "char|word|bpe", "a token"},
    {"context", AB_INT, offsetof(lm_cfg, context), 64, 2, 1000, NULL, "length of a window"},
    {0}};
static const ab_option recall_params[] = {
    {"kind", AB_CHOICE, offsetof(recall_cfg, kind), 0, 0, 0, "mqar|induction", "what is asked"},
    {"vocab", AB_INT, offsetof(recall_cfg, vocab), 64, 3, 10000, NULL, "symbols"},
    {"length", AB_INT, offsetof(recall_cfg, length), 64, 2, 1000, NULL, "of an example"},
    {"pairs", AB_INT, offsetof(recall_cfg, pairs), 4, 1, 1000, NULL, "keys with values"},
    {"train_examples", AB_INT, offsetof(recall_cfg, train_examples), 1000, 1, 1000000, NULL, "examples"},
    {"test_examples", AB_INT, offsetof(recall_cfg, test_examples), 1000, 1, 1000000, NULL, "examples"},
    {"data_seed", AB_INT, offsetof(recall_cfg, data_seed), 1, 0, 1e9, "run", "of the data"},
    {0}};
static const ab_option learned_params[] = {
    {"max_len", AB_INT, offsetof(lm_cfg, max_len), 1024, 1, 1000000, NULL, "longest sequence"},
    {"std", AB_REAL, offsetof(lm_cfg, std), 0, 0, 100, NULL, "of the vectors"},
    {0}};
static const ab_option adamw_params[] = {
    {"beta1", AB_REAL, offsetof(adam_cfg, beta1), 0.9, 0, 1, NULL, "decay of the mean [fraction]"},
    {"beta2", AB_REAL, offsetof(adam_cfg, beta2), 0.999, 0, 1, NULL, "decay of the square [fraction]"},
    {"decay", AB_REAL, offsetof(adam_cfg, decay), 0.01, 0, 1, NULL, "of the weights [fraction]"},
    {0}};
static const ab_option restricted_params[] = {
    {"width", AB_INT, offsetof(width_cfg, width), 8, 1, 1000, NULL, "neighbours on each side [tokens]"},
    {"period", AB_INT, offsetof(width_cfg, period), -1, 1, 100, "never|auto", "wide layer every so many [layers]"},
    {0}};
static const ab_option other_restricted_params[] = {
    {"width", AB_INT, offsetof(width_cfg, width), 5, 1, 1000, NULL, "another meaning"}, {0}};
static const ab_option convolutional_params[] = {
    {"width", AB_INT, offsetof(convolutional_cfg, width), 3, 1, 1000, NULL, "of the kernel [tokens]"},
    {"glu", AB_BOOL, offsetof(convolutional_cfg, glu), 0, 0, 0, NULL, "gated linear units"},
    {"growth", AB_INT, offsetof(convolutional_cfg, growth), 1, 1, 256, NULL, "dilation from layer to layer"},
    {"separable", AB_BOOL, offsetof(convolutional_cfg, separable), 0, 0, 0, NULL, "depthwise and pointwise"},
    {0}};
typedef struct {
    int64_t experts, top_k;
    double noise;
} moe_cfg;
static const ab_option moe_params[] = {
    {"experts", AB_INT, offsetof(moe_cfg, experts), 4, 1, 64, NULL, "feed-forwards [count]"},
    {"top_k", AB_INT, offsetof(moe_cfg, top_k), 2, 1, 64, NULL, "of which a row goes to so many [count]"},
    {"noise", AB_REAL, offsetof(moe_cfg, noise), 0, 0, 10, NULL, "on the gate [none]"},
    {0}};
static const ab_option additive_params[] = {
    {"hidden", AB_INT, offsetof(width_cfg, width), 8, 1, 1000, NULL, "width of the scoring layer [units]"}, {0}};
static const ab_option rotary_params[] = {
    {"base", AB_REAL, offsetof(base_cfg, base), 10000, 1, 1e9, NULL, "longest wavelength [tokens / 2 pi]"}, {0}};
static const ab_option adam_params[] = {
    {"beta1", AB_REAL, offsetof(adam_cfg, beta1), 0.9, 0, 1, NULL, "decay of the mean [fraction]"},
    {"beta2", AB_REAL, offsetof(adam_cfg, beta2), 0.98, 0, 1, NULL, "decay of the square [fraction]"},
    {"eps", AB_REAL, offsetof(adam_cfg, eps), 1e-9, 0, 1, NULL, "added to the root [gradient]"},
    {0}};
static const plugin_schema case_schemas[] = {
    {"task", "translation", translation_params, NULL},
    {"task", "parsing", parsing_params, NULL},
    {"task", "sequence", sequence_params, NULL},
    {"task", "lm", lm_params, NULL},
    {"task", "recall", recall_params, NULL},
    {"attention", "scaled_dot", NULL, NULL},
    {"attention", "additive", additive_params, NULL},
    {"attention", "dot", NULL, NULL},
    {"attention", "cosine_similarity", NULL, NULL},
    {"attention", "convolutional", convolutional_params, NULL},
    {"attention", "lstm", NULL, NULL},
    {"attention", "recurrent", NULL, NULL},
    {"attention", "aligned", NULL, NULL},
    {"attention", "gaussian_window", NULL, NULL},
    {"attention", "linear", NULL, NULL},
    {"attention", "retention", NULL, NULL},
    {"attention", "gated_linear", NULL, NULL},
    {"attention", "restricted", restricted_params, NULL},
    {"position", "sinusoid", NULL, NULL},
    {"position", "learned", learned_params, NULL},
    {"position", "none", NULL, NULL},
    {"position", "shaw", NULL, NULL},
    {"position", "alibi", NULL, NULL},
    {"position", "t5", NULL, NULL},
    {"position", "rotary", rotary_params, NULL},
    {"feed_forward", "relu", NULL, NULL},
    {"feed_forward", "gelu", NULL, NULL},
    {"feed_forward", "none", NULL, NULL},
    {"feed_forward", "moe", moe_params, NULL},
    {"norm", "layer_norm", NULL, NULL},
    {"block", "post_norm", NULL, NULL},
    {"block", "pre_norm", NULL, NULL},
    {"optimizer", "adam", adam_params, NULL},
    {"optimizer", "adamw", adamw_params, NULL},
    {"schedule", "noam", NULL, NULL},
    {"schedule", "constant", NULL, NULL},
    {"schedule", "linear", NULL, NULL},
    {"schedule", "cosine", NULL, NULL},
    {"position", "restricted", rotary_params, NULL},
    {"norm", "restricted", other_restricted_params, NULL},
#define NEWER(NAME, name, number, usual, since, doc) {since ? #name : "", usual, NULL, NULL},
    AB_MODEL_KINDS(NEWER) /* kinds that were added later */
};
static const plugin_schema mine = {"attention", "mine", restricted_params, NULL};

static inline const plugin_schema *case_open(void *user, const char *kind, const char *path, err *e)
{
    (void)user, (void)kind;
    if (has_suffix(path, "mine.so")) return &mine;
    return fail(e, "cannot open shared object file: no such file"), NULL;
}
static const plugin_schemas case_plugins = {case_schemas, LENGTH(case_schemas), case_open, NULL};

/* Prints a row's settings and how they differ from base. */
static inline void dump_row(const spec *s, const spec_row *r, bool brief, str *out)
{
    str_addf(out, "%zu [%s] %s: ", r->order, r->group, r->name);
    if (!brief && *r->changed) str_addf(out, "%s; ", r->changed);
    if (r->same_as >= 0)
        str_addf(out, "same as %s", s->rows[r->same_as].name);
    else
        str_add(out, r->run ? "run" : "no run");
    if (!r->selected) str_add(out, ", not selected");
    if (!same(r->paper_row, r->name)) str_addf(out, ", beside %s", r->paper_row);
    if (brief && r->is_base) str_addf(out, ", config %.12s", r->hash);
    str_add(out, "\n");
    if (brief || r->is_base) return;
    for (size_t i = 0; i < r->settings.n; i++) {
        const char *base = settings_get(&s->rows[0].settings, r->settings.at[i].key);
        if (!same(base, r->settings.at[i].value))
            str_addf(out, "    %s = %s\n", r->settings.at[i].key, r->settings.at[i].value);
    }
}

static inline void dump_base(const spec *s, str *out)
{
    str_add(out, "base:\n");
    for (size_t i = 0; i < s->rows[0].settings.n; i++) {
        const setting *one = &s->rows[0].settings.at[i];
        arena a = {0};
        bool differs = strchr(one->key, '.') != NULL;
        for (const ab_option *p = config_params; p->name; p++)
            differs |= same(p->name, one->key) && !same(param_default(p, &a), one->value);
        if (differs) str_addf(out, "    %s = %s\n", one->key, one->value);
        arena_free(&a);
    }
}

/* brief: only the rows' names, so that changes to other settings leave the expected file valid. */
static inline void dump_spec(const spec *s, bool brief, str *out)
{
    str_addf(out, "experiment %s", s->name);
    if (*s->note) str_addf(out, ", note \"%s\"", s->note);
    if (*s->paper) str_addf(out, ", paper %s", s->paper);
    str_add(out, ", seeds");
    for (size_t i = 0; i < s->n_seeds; i++) str_addf(out, " %lld", (long long)s->seeds[i]);
    str_addf(out, ", %zu runs\n", s->n_runs);
    if (s->slurm.n) str_addf(out, "sbatch %s; %lld runs a task\n", s->slurm_options, (long long)s->slurm_per_task);
    if (!brief) dump_base(s, out);
    for (size_t i = 0; i < s->n_rows; i++) dump_row(s, &s->rows[i], brief, out);
    if (s->warnings.n) str_addf(out, "warnings:\n%s", str_text(&s->warnings));
}
#endif
