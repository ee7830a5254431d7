/* keys.c - the table of core keys, in the order of `config`: INI schema, defaults, ranges, reference text. */
#include "network/settings/places.h"

#define AT(field) offsetof(config, field)
#define INT(field, def, min, max, choices, doc)                                                                        \
    {                                                                                                                  \
#field, AB_INT, AT(field), def, min, max, choices, doc                                                         \
    }
#define REAL(field, def, min, max, doc)                                                                                \
    {                                                                                                                  \
#field, AB_REAL, AT(field), def, min, max, NULL, doc                                                           \
    }
#define BOOL(field, def, doc)                                                                                          \
    {                                                                                                                  \
#field, AB_BOOL, AT(field), def, 0, 0, NULL, doc                                                               \
    }
#define CHOICE(field, def, choices, doc)                                                                               \
    {                                                                                                                  \
#field, AB_CHOICE, AT(field), def, 0, 0, choices, doc                                                          \
    }
#define TEXT(field, def, doc)                                                                                          \
    {                                                                                                                  \
#field, AB_TEXT, AT(field), 0, 0, 0, def, doc                                                                  \
    }

#define KIND(NAME, name, number, usual, since, doc) TEXT(name, usual, #name " plugin: " doc),

enum { MOST_STEPS = 1000000000 };

const ab_option config_params[] = {
    /* plugins */
    TEXT(task, "translation", "task plugin: what is learned and how it is scored"),
    TEXT(attention, "scaled_dot",
         "attention plugin of all three roles: encoder, decoder and cross-attention (section 3.2)"),
    TEXT(attention_encoder, "same", "attention plugin of the encoder's self-attention; same = the value of attention"),
    TEXT(attention_decoder, "same",
         "attention plugin of the decoder's masked self-attention; same = the value of attention"),
    TEXT(attention_cross, "same", "attention plugin of the cross-attention; same = the value of attention"),
    AB_MODEL_KINDS(KIND) TEXT(plugin_path, "", "additional plugin folders [folders, separated by colons]"),
    /* model */
    INT(layers, 6, 1, 256, NULL, "layers of each stack [layers] (N in Table 3, section 3.1)"),
    INT(layers_encoder, -1, 1, 256, "same", "layers of the encoder [layers]; same = the value of layers"),
    INT(layers_decoder, -1, 1, 256, "same", "layers of the decoder [layers]; same = the value of layers"),
    INT(d_model, 512, 1, 65536, NULL, "width of embeddings and sublayer outputs [values] (section 3.1)"),
    INT(d_ff, 2048, 1, 262144, NULL, "inner width of the feed-forward sublayers [values] (section 3.3)"),
    INT(heads, 8, 1, 1024, NULL, "attention heads [heads] (h in Table 3, section 3.2.2)"),
    INT(d_k, -1, 1, 65536, "auto",
        "width of a head's queries and keys [values]; auto = d_model / heads (section 3.2.2)"),
    INT(d_v, -1, 1, 65536, "auto", "width of a head's values [values]; auto = d_model / heads (section 3.2.2)"),
    REAL(
        dropout, 0.1, 0, 0.99,
        "dropout on embedding + position and on each sublayer's output [probability] (P_drop in Table 3, section 5.4)"),
    REAL(attention_dropout, 0, 0, 0.99, "dropout on attention weights [probability]"),
    REAL(activation_dropout, 0, 0, 0.99,
         "dropout inside the feed-forward sublayers, after the activation [probability]"),
    REAL(word_dropout, 0, 0, 0.99, "word dropout: replaces source tokens by <unk> in training [probability]"),
    REAL(label_smoothing, 0.1, 0, 0.99,
         "label smoothing eps [probability] (section 5.4); perplexity always uses the unsmoothed loss"),
    CHOICE(label_smoothing_over, SMOOTH_ALL, "all|others",
           "which tokens share eps, in a vocabulary of V: all = eps/V on every token, so the gold token has 1 - eps + "
           "eps/V (Szegedy et al. 2015, cited by the paper); others = eps/(V-1) on the others, the gold token has 1 - "
           "eps (the paper's code)"),
    INT(char_ngrams, 0, 0, 10000000, NULL,
        "composes source tokens from characters: the mean vector of a token's n-grams of 2 to 4 characters is added to "
        "its own; n-grams are hashed to this many vectors [vectors]; 0 = none (Bojanowski et al. 2017, sections 3.2, "
        "4.3)"),
    CHOICE(share_embeddings, SHARE_ALL, "all|target|none",
           "what shares one embedding table: all = source, target and softmax (section 3.4); target = target and "
           "softmax; none = three tables"),
    BOOL(bias, 1,
         "biases on the q, k, v and o projections, as in the paper's code; feed-forward sublayers always have biases"),
    CHOICE(qkv_init, QKV_FUSED, "fused|separate",
           "Glorot uniform initialisation of q, k, v: fused = scaled as one matrix for all three, as in the paper's "
           "code; separate = each on its own, sqrt(2) times larger"),
    CHOICE(parametrization, PARAMETRIZATION_STANDARD, "standard|mup",
           "how initial values, learning rates and multipliers depend on the width: mup = so that a learning rate "
           "found at base_d_model is right at other widths (Yang et al. 2022, Tensor Programs V, table 8), for adam, "
           "adamw and lion"),
    INT(base_d_model, 0, 0, 65536, NULL,
        "d_model at which mup is the standard parametrisation [values]; 0 = not given"),
    INT(base_d_k, 0, 0, 65536, NULL,
        "d_k at which mup scales scores as usual [values]; 0 = d_k, for widths that differ only in the number of "
        "heads"),
    INT(base_layers, 0, 0, 256, NULL,
        "layers at which mup's sublayers have the standard size, for pre_norm: each output is multiplied by "
        "base_layers / layers (Dey et al. 2025, CompleteP, alpha = 1) [layers]; 0 = depths are not scaled"),
    /* text */
    CHOICE(vocab, VOCAB_BPE, "bpe|unigram|words|char|wordpiece",
           "tokenisation; the paper uses bpe, and word pieces for En-Fr (section 5.1)"),
    INT(vocab_size, 32000, 8, 1000000, NULL,
        "vocabulary size, including special tokens [tokens]; the paper: about 37000 for En-De, 32000 for En-Fr "
        "(section 5.1)"),
    INT(max_length, 256, 2, 65536, NULL,
        "training pairs longer than this on either side are skipped and counted [tokens]"),
    BOOL(lowercase, 0, "lowercase the text first"),
    /* training */
    CHOICE(precision, PRECISION_AUTO, "auto|fp32|bf16",
           "number format of matrix products; auto = bf16 if the device has fast hardware for it; weights are always "
           "stored in fp32. Decoding also supports int8: translate --precision int8"),
    REAL(lr, 1, 0, 1000, "peak learning rate; for noam the factor before d_model^-0.5 (1 in the paper)"),
    REAL(lr_min, 0, 0, 1000, "final learning rate of linear, cosine and wsd"),
    INT(warmup, 4000, 0, MOST_STEPS, NULL, "warmup of the learning rate [updates] (section 5.3)"),
    INT(steps, 100000, 1, MOST_STEPS, NULL, "length of training [updates] (section 5.2)"),
    INT(batch_tokens, 25000, 16, 100000000, NULL,
        "maximum source tokens, and maximum target tokens, of a batch [tokens] (section 5.1)"),
    INT(gradient_accumulation, 1, 1, 65536, NULL, "batches whose gradients are summed into one update [batches]"),
    REAL(clip_norm, 0, 0, 1e9, "maximum norm of the whole gradient; 0 = no clipping, as in the paper"),
    TEXT(start_from, "",
         "model file (.safetensors), or run (quick/base@1) of the database, that training starts from: parameters of "
         "the same name and shape get its values; with another vocabulary embeddings stay new. Steps and optimizer "
         "begin anew (unless start_step is given); the run's tag start_from says what was taken"),
    INT(start_step, 0, 0, MOST_STEPS, NULL,
        "step of the run start_from (or of its file state-STEP.safetensors) from which training continues [updates], "
        "with that run's parameters, optimizer state and position in the data; that run must have kept the state "
        "(keep_states); 0 = reads parameters only"),
    TEXT(teacher, "",
         "model file (.safetensors), or run (quick/base@1) of the database, whose logits the head sees in training "
         "(head = distillation): a model with the same vocabularies, of any architecture; the run's tag teacher says "
         "which it was"),
    TEXT(parameter_groups, "", "optimizer settings for groups of parameters, such as norm bias: decay=0 (above)"),
    INT(eval_every, 1000, 1, MOST_STEPS, NULL,
        "interval between measurements of dev perplexity, also measured at the end [updates]"),
    BOOL(watch_layers, 0,
         "curves of every layer, at the training curve's points: its output, gradient, update and the entropy of its "
         "attention (docs/pictures.md); does not change the training"),
    INT(save_every, 1000, 1, MOST_STEPS, NULL, "interval between checkpoints, also written at the end [updates]"),
    INT(keep_checkpoints, 5, 1, 10000, NULL, "number of newest checkpoints to keep [checkpoints]"),
    INT(keep_states, 0, 0, 10000, NULL,
        "number of newest checkpoints whose optimizer state is kept, so that `ablate replay` and start_step can begin "
        "there [checkpoints]; 0 = only the state that a stopped run resumes from"),
    INT(average_checkpoints, 1, 1, 10000, NULL,
        "number of checkpoints averaged for the result [checkpoints], ending with the one that `checkpoint` selects; 1 "
        "= no averaging, as in Table 3; Table 2 uses the last 5 and 20 (section 6.1)"),
    INT(patience, 0, 0, 10000, NULL,
        "stop after this many consecutive evaluations without a better dev perplexity [evaluations]; 0 = never"),
    TEXT(max_time, "0",
         "time limit of a run: when all updates together have taken this long, training ends as at the last step (the "
         "schedule still follows steps) [90s, 30m, 3h, 1h30m ...]; 0 = none"),
    CHOICE(checkpoint, SELECT_BEST, "last|best",
           "step whose weights are the result, or the last step of an average: best = the evaluated step with the "
           "lowest dev perplexity (without dev data the last step); last = the last step"),
    INT(seed, 1, 0, 4294967295.0, NULL, "random seed; set through `seeds` of [experiment], not as a key"),
    /* decoding */
    CHOICE(decode_split, DECODE_TEST, "dev|test|dev+test|none",
           "parts of the data to decode and score; Table 3 uses dev, Table 2 test. Perplexity and token accuracy are "
           "always measured on dev, and as PPL_test if test is scored. With dev+test, metrics are named by the part: "
           "BLEU_test, BLEU_dev. none = nothing is decoded, as in trials of a search"),
    INT(beam_size, 4, 1, 1000, NULL, "beam size [hypotheses] (section 6.1); 1 = greedy"),
    REAL(length_penalty, 0.6, 0, 10, "length penalty ((5 + length) / 6)^alpha (section 6.1)"),
    INT(max_extra_tokens, 50, 0, 65536, NULL, "maximum output length beyond the input's length [tokens] (section 6.1)"),
    INT(decode_batch, 0, 0, 65536, NULL,
        "sentences decoded at once [sentences], fewer if memory is short; 0: 64 on the CPU, 512 on a GPU; does not "
        "affect the output"),
    TEXT(contrast, "",
         "file of contrastive pairs, in the data folder or a path: lines of source, right target, wrong target and, if "
         "wanted, a group's name, between tabs. Metrics contrast and contrast_GROUP: the share of pairs whose right "
         "target the model finds likelier [%] (Sennrich 2017)"),
    /* machine */
    TEXT(device, "auto", "device to compute on: auto, cpu, cuda (or gpu) or cuda:N"),
    INT(threads, 0, 0, 4096, NULL, "CPU threads of a run, or of each of its ranks [threads]; 0 = all available"),
    INT(ranks, 1, 1, 4096, NULL,
        "processes that train a run together, each on a slice of every batch [ranks] (docs/cluster.md); dropout masks "
        "depend on this number"),
    {0}};

/* Keys that name a plugin: one per kind, and attention's three roles. */
#define FACTS(NAME, name, number, usual, since, doc) [AB_##NAME] = {#name, usual, since},
const kind_facts config_kinds[AB_KIND_COUNT] = {{"host", "", 0}, AB_KINDS(FACTS)};
const char *const config_attention_keys[3] = {"attention_encoder", "attention_decoder", "attention_cross"};
static const char *const unhashed[] = {"plugin_path", "seed", "decode_batch", "device", "threads"};

static const char *const decoding[] = {"beam_size",    "length_penalty", "max_extra_tokens", "decode_split",
                                       "decode_batch", "device",         "threads"};

bool config_only_decodes(const char *key)
{
    for (size_t i = 0; i < LENGTH(decoding); i++)
        if (same(decoding[i], key)) return true;
    return false;
}

void config_decode_keys(str *out)
{
    for (size_t i = 0; i < LENGTH(decoding); i++) str_addf(out, "%s\"%s\"", i ? "," : "[", decoding[i]);
    str_addc(out, ']');
}

const char *config_plugin_kind(const char *key)
{
    key = place_inner(key);
    for (ab_kind k = 1; k < AB_KIND_COUNT; k++)
        if (same(config_kinds[k].name, key)) return config_kinds[k].name;
    for (size_t i = 0; i < LENGTH(config_attention_keys); i++)
        if (same(config_attention_keys[i], key)) return "attention";
    return NULL;
}

const renamed_key config_renamed[] = {{"relu_dropout", "activation_dropout"},
                                      {"beam", "beam_size"},
                                      {"alpha", "length_penalty"},
                                      {"max_extra", "max_extra_tokens"},
                                      {"average", "average_checkpoints"},
                                      {"keep", "keep_checkpoints"},
                                      {"accumulate", "gradient_accumulation"},
                                      {"select", "checkpoint"},
                                      {0}};

const char *config_new_name(const char *key)
{
    for (const renamed_key *r = config_renamed; r->old; r++)
        if (same(r->old, key)) return r->now;
    return NULL;
}

const char *config_first_name(const char *key)
{
    for (const renamed_key *r = config_renamed; r->old; r++)
        if (same(r->now, key)) return r->old;
    return key;
}

bool config_came_later(const char *key, const char *value)
{
    static const struct {
        const char *key, *value;
    } later[] = {{"ranks", "1"},
                 {"parameter_groups", ""},
                 {"start_from", ""},
                 {"teacher", ""},
                 {"start_step", "0"},
                 {"keep_states", "0"},
                 {"watch_layers", "false"},
                 {"translation.first_pairs", "0"},
                 {"learned.std", "0"},
                 {"lm.test_part", "0"},
                 {"lm.split_seed", "1"},
                 {"char_ngrams", "0"},
                 {"contrast", ""},
                 {"max_time", "0"},
                 {"parametrization", "standard"},
                 {"base_d_model", "0"},
                 {"base_d_k", "0"},
                 {"base_layers", "0"},
                 {"gaussian_window.most", "0"},
                 {"gaussian_window.offset", "false"},
                 {"moe.balancing", "loss"},
                 {"moe.bias_rate", "0.001"}};
    for (ab_kind k = 1; k < AB_KIND_COUNT; k++)
        if (config_kinds[k].since && same(config_kinds[k].name, key)) return same(config_kinds[k].usual, value);
    for (size_t i = 0; i < LENGTH(later); i++)
        if (same(later[i].key, key) && same(later[i].value, value)) return true;
    return false;
}

bool config_is_bookkeeping(const char *key) { return same(key, "save_every") || same(key, "eval_every"); }

bool config_is_hashed(const char *key)
{
    for (size_t i = 0; i < LENGTH(unhashed); i++)
        if (same(unhashed[i], key)) return false;
    return true;
}
