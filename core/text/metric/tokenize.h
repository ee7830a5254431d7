/* tokenize.h - BLEU's tokenizers, which insert spaces between words. */
#ifndef ABLATE_METRIC_TOKENIZE_H
#define ABLATE_METRIC_TOKENIZE_H
#include "text/metric/codes.h"

/* 13a: mteval-v13a of the WMT campaigns. none: spaces only. intl: splits Unicode punctuation and symbols, as
 * mteval-v14. char: splits every character. zh: splits every Chinese character, the rest as 13a. compounds: splits at
 * spaces and hyphens, as for figures of WMT14 English-German on Moses' tokens, such as Vaswani et al.'s 28.4. */
#define TOKENIZERS(X)        X(13a) X(none) X(intl) X(char) X(zh) X(compounds)
#define TOKENIZER_ENUM(name) TOK_##name,
enum tokenizer { TOKENIZERS(TOKENIZER_ENUM) N_TOKENIZERS };
extern const char *const tokenizer_names[N_TOKENIZERS];

typedef bool (*codes_class)(int32_t c);

/* Each of these edits *text in one pass from the left and never reads its own output. *spare: working memory. */
void codes_replace(codes *text, codes *spare, const char *from, const char *to); /* replaces every ASCII text `from` */
void codes_set_apart(codes *text, codes *spare, codes_class class);              /* blanks around the class */
void codes_pad(codes *text, codes *spare);                                       /* adds a blank at both ends */
/* Splits off a full stop or comma unless digits are on both sides of it, and a dash behind a digit. */
void codes_split_marks(codes *text, codes *spare);
void codes_swap(codes *a, codes *b);
/* Tokenizes *text in place; words are then separated by spaces (codes_space). *spare is working memory. */
void tokenize(enum tokenizer kind, codes *text, codes *spare);
#endif
