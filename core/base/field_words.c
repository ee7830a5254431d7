/* field_words.c - finds the name that a misspelt or foreign word means, for every "did you mean". */
#include "base/base.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* This program's names, and their synonyms in the paper (Vaswani et al. 2017, Table 3), other papers and programs. */
static const struct {
    const char *name, *words;
} field_words[] = {
    {"layers", " N n_layers num_layers num_hidden_layers n_layer depth "},
    {"heads", " h n_heads num_heads num_attention_heads n_head nhead "},
    {"dropout", " P_drop dropout_rate dropout_prob "},
    {"label_smoothing", " eps_ls label_smooth smoothing "},
    {"warmup", " warmup_steps num_warmup_steps warmup_updates "},
    {"d_model", " hidden_size embed_dim d_embed n_embd dim "},
    {"d_ff", " ffn_dim d_inner dim_feedforward intermediate_size "},
    {"d_k", " head_dim "},
    {"attention_dropout", " attn_dropout "},
    {"activation_dropout", " relu_dropout "},
    {"lr", " learning_rate eta "},
    {"steps", " max_steps num_steps train_steps max_updates iterations epochs "},
    {"batch_tokens", " batch_size max_tokens "},
    {"gradient_accumulation", " grad_accum gradient_accumulation_steps update_freq "},
    {"clip_norm", " grad_clip max_grad_norm gradient_clip_val "},
    {"precision", " dtype mixed_precision amp "},
    {"share_embeddings", " tie_embeddings tie_word_embeddings tied_embeddings "},
    {"vocab", " tokenizer "},
    {"vocab_size", " n_vocab "},
    {"max_length", " max_len max_seq_len block_size "},
    {"beam_size", " num_beams beam_width "},
    {"length_penalty", " lenpen "},
    {"eval_every", " eval_interval "},
    {"save_every", " save_interval "},
    {"patience", " early_stopping "},
    {"schedule", " lr_scheduler scheduler lr_schedule "},
    {"feed_forward", " activation ffn mlp "},
    {"position", " pos_encoding positional_encoding "},
    {"norm", " normalization "},
    {"device", " gpus "},
    {"seeds", " random_seed "},
    {"rotary", " rope "},
    {"sinusoid", " sinusoidal sine "},
    {"shaw", " relative "},
    {"learned", " absolute "},
    {"none", " nope "},
    {"layer_norm", " ln layernorm "},
    {"rms_norm", " rmsnorm "},
    {"pre_norm", " preln "},
    {"post_norm", " postln "},
    {"grouped_query", " mqa gqa "},
    {"restricted", " sliding_window local "},
    {"scaled_dot", " softmax_attention mha "},
    {"mamba2", " mamba "},
    {"geglu", " glu "},
    {"swiglu", " silu "},
    {"noam", " inverse_sqrt "},
    {"sgd", " momentum "},
    {"unigram", " sentencepiece "},
    {"bpe", " subword "},
    {"fp32", " float32 "},
    {"bf16", " bfloat16 half "},
};

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Edit distance: insert, delete, change a byte, exchange two neighbours. `rows` holds 3 * (strlen(b) + 1). */
static size_t distance(const char *a, const char *b, size_t *rows)
{
    size_t m = strlen(b), *before = rows, *last = rows + m + 1, *row = rows + 2 * (m + 1);
    for (size_t j = 0; j <= m; j++) last[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t d = last[j - 1] + (a[i - 1] != b[j - 1]);
            d = least(d, 1 + least(last[j], row[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) d = least(d, before[j - 2] + 1);
            row[j] = d;
        }
        size_t *spare = before;
        before = last, last = row, row = spare;
    }
    return last[m];
}

/* Finds a candidate that equals the word but for upper and lower case, or that has the word as a synonym. */
static const char *known(const char *given, const char *const *candidates, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (candidates[i] && !strcasecmp(candidates[i], given)) return candidates[i];
    char word[64];
    snprintf(word, sizeof word, " %s ", given);
    for (size_t w = 0; w < LENGTH(field_words); w++)
        for (size_t i = 0; i < n && strcasestr(field_words[w].words, word); i++)
            if (candidates[i] && same(candidates[i], field_words[w].name)) return candidates[i];
    return NULL;
}

const char *nearest(const char *given, const char *const *candidates, size_t n)
{
    const char *best = known(given, candidates, n);
    size_t n_given = strlen(given), limit = 1 + n_given / 3, *rows = NULL, cap = 0;
    bool even = false; /* does best have the given word's length? */
    if (best) return best;
    for (size_t i = 0; i < n; i++) {
        if (!candidates[i]) continue;
        size_t m = strlen(candidates[i]);
        if (m > n_given + limit || n_given > m + limit) continue;
        rows = grow(rows, &cap, 3 * (m + 1), sizeof *rows);
        size_t d = distance(given, candidates[i], rows);
        if (d >= n_given || d > limit || (best && d == limit && (even || m != n_given))) continue;
        best = candidates[i], even = m == n_given;
        limit = d; /* the next must be nearer, or as near and of the given length */
    }
    free(rows);
    return best;
}

const char *suggestion(const char *given, const char *const *candidates, size_t n, const char *quote)
{
    const char *name = nearest(given, candidates, n);
    static _Thread_local char text[256];
    if (!name) return "";
    snprintf(text, sizeof text, "; did you mean %s%.200s%s?", quote, name, quote);
    return text;
}
