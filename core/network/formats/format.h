/* format.h - the parts of a format: settings with a counterpart, names of learned values, functions that write the
 * files. A new format is one file with a `model_format` and a line in export.c.
 *
 * A weight_row names learned values without .w, .b and .g. `#` stands for the layer, from 0, and makes a tensor for
 * each layer of the stack. `a|b`: the first of the two that the model has. `a+b`: both, concatenated. Queries, keys and
 * values are found below their own names (dec.#.self.q) even if the model has them in one matrix (dec.#.self.qkv).
 */
#ifndef ABLATE_FORMAT_H
#define ABLATE_FORMAT_H
#include "network/formats/formats.h"

typedef enum {
    ROW_END,
    ROW_LINEAR,   /* matrix [in, out] and bias; the format has [out, in] */
    ROW_NORM,     /* norm: gain and bias */
    ROW_TABLE,    /* embeddings [ids, d_model] */
    ROW_POSITIONS /* position vectors [positions, d_model]: learned, or the plugin's table */
} row_kind;
enum {
    ROW_SCALED =
        1, /* multiplied by sqrt(d_model): ablate multiplies when it reads an embedding, the other program does not */
    ROW_BIAS = 2,  /* the format always has a bias: zeros if our projection has no bias */
    ROW_GATED = 4, /* only gated feed-forwards have this row */
    ROW_LIKE = 8   /* the format has this bias if any projection of the attention has a bias; zeros if ours has none */
};
typedef struct {
    row_kind kind;
    const char *ours, *theirs;
    int how;
} weight_row;

typedef struct {
    const char *key, *values; /* values that the other program has, too, separated by | */
} setting_rule;

typedef struct {
    const char *name; /* the tensor's full name */
    const char *type; /* type of its elements: "f32", "i8", "i16" */
    int rank;         /* number of axes; 0: a single number */
    int64_t dim[2];   /* outermost first */
    const void *data; /* [bytes], little-endian */
    size_t bytes;
    const char *alias; /* name of an earlier tensor with equal values; NULL: no such tensor */
} format_tensor;

typedef struct exporting exporting;
typedef struct {
    const char *name;    /* the format's name in --format */
    const char *program; /* name of the program that reads the format, for messages */
    bool encoder;        /* for encoder-decoder models; false: for decoder-only ones */
    const setting_rule *rules;
    const weight_row *rows;
    const char *linear[2], *norm[2]; /* suffixes of tensor names: linear: matrix and bias; norm: gain and bias */
    bool halves;                     /* the format's sinusoids have all sines first, then all cosines */
    bool rotary_pairs;               /* the format rotates columns 2i and 2i + 1; ablate rotates i and i + d_k / 2 */
    void (*check)(exporting *x);     /* more refusals (format_refuse); NULL: no more */
    int (*write)(exporting *x, err *e);
} model_format;

struct exporting {
    model *m;
    const vocab *src, *tgt;
    const model_format *format;
    const char *folder;
    const float *values;       /* the model's learned values */
    bool *used;                /* [params.n] */
    double query_scale[ROLES]; /* factor on each role's queries, because the format computes q k' / sqrt(d_k) */
    int64_t *order;            /* [d_model]: our column for each of the format's columns; NULL: identical */
    format_tensor *at;         /* [n] */
    size_t n, cap;
    size_t files;
    str refused; /* lines */
    arena memory;
};

extern const model_format format_ctranslate2, format_marian, format_llama, format_gguf;

/* Adds the refusal "KEY = VALUE has no counterpart in PROGRAM: WHY"; why may be NULL. */
void format_refuse(exporting *x, const char *key, const char *value, const char *why);
void format_refuse_real(exporting *x, const char *key, double value, const char *why);
/* Refuses d_k and d_v that differ from d_model / heads. */
void format_check_heads(exporting *x);
/* Value of a plugin's setting, such as "layer_norm.eps"; the setting's default if the run did not set it. */
double format_setting(const exporting *x, const char *key);
bool format_attention_bias(const exporting *x); /* does any projection of the decoder's self-attention have a bias? */
int64_t format_window(const exporting *x);      /* longest text of a language model [tokens] */
double format_eps(const exporting *x);          /* eps of the norms */
bool format_gated(const exporting *x);          /* is the feed-forward gated? */
int64_t format_inner(const exporting *x);       /* the feed-forward's inner width */
int64_t format_kv_heads(const exporting *x);    /* key-value heads of the decoder's attention */
/* Adds a tensor that no weight_row describes. Copies the data. */
void format_add(exporting *x, const char *name, const char *type, int rank, int64_t rows, int64_t columns,
                const void *data);
int format_write(exporting *x, const char *name, const void *data, size_t n, err *e); /* writes a file into x->folder */
int format_write_text(exporting *x, const char *name, str *text, err *e);             /* also frees `text` */
/* Writes a vocabulary as JSON: the list of its tokens, or with `ids` an object from token to id. */
int format_write_vocabulary(exporting *x, const char *name, const vocab *v, bool ids, err *e);
/* Writes SentencePiece models, if the vocabularies have them, as PREFIXsource.spm and target.spm. */
int format_write_pieces(exporting *x, err *e);
/* Writes the tensors as model.safetensors, without aliases. */
int format_write_safetensors(exporting *x, err *e);
/* Writes tokenizer.json and tokenizer_config.json of `v`, for transformers. */
int format_write_tokenizer(exporting *x, const vocab *v, err *e);
/* Appends a little-endian number. */
void format_le(str *out, uint64_t v, int bytes);
void format_f32(str *out, double v);
#endif
