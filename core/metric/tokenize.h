/* tokenize.h - the tokenizers of BLEU: they put spaces where words are to be split. */
#ifndef ABLATE_METRIC_TOKENIZE_H
#define ABLATE_METRIC_TOKENIZE_H
#include "metric/codes.h"

/* 13a: mteval-v13a of the WMT campaigns. none: spaces only. intl: Unicode punctuation and symbols, of
 * mteval-v14. char: every character. zh: every Chinese character, the rest as 13a. */
#define TOKENIZERS(X)        X(13a) X(none) X(intl) X(char) X(zh)
#define TOKENIZER_ENUM(name) TOK_##name,
enum tokenizer { TOKENIZERS(TOKENIZER_ENUM) N_TOKENIZERS };
extern const char *const tokenizer_names[N_TOKENIZERS];

/* Turns *text into its tokenized form, in which words are what codes_space separates; *spare is working
 * memory. */
void tokenize(enum tokenizer kind, codes *text, codes *spare);
#endif
