/* tokenize.h - the tokenizers of BLEU: they insert spaces between words. */
#ifndef ABLATE_METRIC_TOKENIZE_H
#define ABLATE_METRIC_TOKENIZE_H
#include "text/metric/codes.h"

/* 13a: mteval-v13a of the WMT campaigns. none: spaces only. intl: Unicode punctuation and symbols, of
 * mteval-v14. char: every character. zh: every Chinese character, the rest as 13a. */
#define TOKENIZERS(X)        X(13a) X(none) X(intl) X(char) X(zh)
#define TOKENIZER_ENUM(name) TOK_##name,
enum tokenizer { TOKENIZERS(TOKENIZER_ENUM) N_TOKENIZERS };
extern const char *const tokenizer_names[N_TOKENIZERS];

/* Tokenizes *text in place; words are then separated by spaces (codes_space). *spare is working memory. */
void tokenize(enum tokenizer kind, codes *text, codes *spare);
#endif
